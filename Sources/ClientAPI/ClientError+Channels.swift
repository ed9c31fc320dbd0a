import Gateway
import LiveActivity
import VerbatimJSON

extension ClientError {
    /// What APNs said of a request about channels, or why it said nothing.
    struct APNsDetail: Equatable {
        /// HTTP status of APNs; nil where it did not answer.
        var status: Int?
        /// APNs' word, or why there is no answer.
        var reason: String
        /// apns-request-id.
        var requestID: String
        /// Only where APNs did not answer.
        var mayHaveBeenProcessed: Bool?

        func write(to writer: inout JSONWriter) {
            writer.key("apns")
            writer.beginObject()
            writer.member("status", status)
            writer.member("reason", reason)
            writer.member("requestId", requestID)
            writer.member("mayHaveBeenProcessed", mayHaveBeenProcessed)
            writer.endObject()
        }
    }

    init(_ fault: ChannelFault) {
        switch fault {
        case .order(let fault):
            self.init(fault)
        case .unavailable(let unavailable):
            self.init(unavailable)
        case .push(let refusals):
            self.init(refusals)
        case .refused(let status, let reason, let retryAfter, let requestID):
            self.init(refusedWith: reason, status: status)
            self.apns = APNsDetail(status: status, reason: reason, requestID: requestID)
            self.retryAfter = retryAfter
        case .held(let reason, let requestID):
            self.init(.apnsRefused, "nothing was sent: APNs refuses the signing key (\(reason))", field: "businessId")
            self.apns = APNsDetail(reason: reason, requestID: requestID)
        case .unanswered(let reason, let mayHaveBeenProcessed, let requestID):
            let end = mayHaveBeenProcessed ? "it may have been done all the same" : "nothing was done"
            self.init(.apnsNoAnswer, "APNs did not answer (\(reason)); \(end)")
            self.apns = APNsDetail(reason: reason, requestID: requestID, mayHaveBeenProcessed: mayHaveBeenProcessed)
        }
    }

    /// The first refusal names the field; the message has them all.
    private init(_ refusals: [PayloadFinding]) {
        let message = refusals.map { "\($0.clientField) \($0.message)" }.joined(separator: "; ")
        let isTooLarge = refusals.contains { $0.code == .payloadTooLarge }
        self.init(isTooLarge ? .payloadTooLarge : .invalidValue, message, field: refusals.first?.clientField)
    }

    private init(refusedWith reason: String, status: Int) {
        switch (status, reason) {
        case (_, "ChannelNotRegistered"):
            let message = "APNs has no such channel in this environment: it was deleted, or belongs to the other one"
            self.init(.unknownChannel, message, field: "channelId")
        case (_, "BadChannelId"):
            self.init(.invalidValue, "channelId is no id of a channel", field: "channelId")
        case (_, "CannotCreateChannelConfig"):
            self.init(.apnsRefused, "the app has all the 10,000 channels that APNs allows: delete some")
        case (_, "FeatureNotEnabled"):
            let message = "broadcasts are not enabled for the bundle id: enable them in Apple's developer portal"
            self.init(.apnsRefused, message, field: "businessId")
        case (_, "TopicMismatch"), (_, "TopicDisallowed"):
            let message = "the signing key of the certificate is not for its bundle id (\(reason))"
            self.init(.apnsRefused, message, field: "businessId")
        case (429, _), (500..., _):
            self.init(.apnsUnavailable, "APNs answered \(status) \(reason)")
        default:
            self.init(.apnsRefused, "APNs answered \(status) \(reason)")
        }
    }
}
