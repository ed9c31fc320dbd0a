import Gateway

extension [RequestWarning] {
    /// Takes over what the check by the app's schemas says.
    ///
    /// - Throws: 90043 with the path of the field that no phone can decode.
    mutating func heed(_ review: ContentReview) throws(TencentError) {
        let told = review.warnings.map { notice in
            RequestWarning(field: notice.path, code: .content(notice.code), message: notice.message)
        }
        if let refusal = review.refusal {
            var error = TencentError(.offlinePushInfo, path: refusal.path, refusal.message)
            error.warnings = told
            throw error
        }
        if review.isBySchema {
            // The types themselves tell of state and attributes.
            removeAll { warning in
                if case .payload(let code) = warning.code { code.isDateGuess } else { false }
            }
        }
        self += told
    }
}

extension ContentNotice {
    /// The field of a request.
    fileprivate var path: String {
        let name =
            switch part {
            case .contentState: "ContentState"
            case .attributes: "Attributes"
            }
        return "OfflinePushInfo.ApnsInfo.LiveActivity." + name + place
    }
}
