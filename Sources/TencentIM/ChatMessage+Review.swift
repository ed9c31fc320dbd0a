import Gateway

extension ChatMessage.Prepared {
    private static let activity = "OfflinePushInfo.ApnsInfo.LiveActivity."

    /// Takes over what the check by the app's schemas says.
    ///
    /// - Throws: 90043 with the path of the field that no phone can decode.
    mutating func heed(_ review: ContentReview) throws(TencentError) {
        let told = review.warnings.map { notice in
            RequestWarning(field: Self.path(of: notice), code: .content(notice.code), message: notice.message)
        }
        if let refusal = review.refusal {
            var error = TencentError(.offlinePushInfo, path: Self.path(of: refusal), refusal.message)
            error.warnings = told
            throw error
        }
        if review.isBySchema {
            // The types themselves tell of state and attributes.
            warnings.removeAll { warning in
                if case .payload(let code) = warning.code { code.isDateGuess } else { false }
            }
        }
        warnings += told
        order.fitsAll = review.fitsAll
    }

    private static func path(of notice: ContentNotice) -> String {
        let name =
            switch notice.part {
            case .contentState: "ContentState"
            case .attributes: "Attributes"
            }
        return Self.activity + name + notice.place
    }
}
