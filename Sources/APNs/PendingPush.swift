import EventLoop

/// One push under way: what the caller wants, what was tried, and what has come back on its stream.
///
/// One object for the push and its stream, since there is one allocation for each push then.
final class PendingPush {
    let request: PendingRequest
    let payload: [UInt8]
    let deadline: MonotonicTime
    /// Sent alone after APNs refused these, to see whether it takes them again.
    var probes: [KeyCircuits.Subject] = []
    /// It was repeated once because of the provider token or the connection.
    var wasRepeated = false
    /// How often it came back unprocessed from a connection.
    var returns = 0

    private var completion: ((APNsOutcome) -> Void)?
    private let counter: RequestCounter

    // The stream. All of it is set anew by `prepare(submittedAt:token:)`.
    var stream: Int32 = 0
    private(set) var submittedAt = MonotonicTime(nanoseconds: 0)
    private(set) var token: ProviderTokenCache.Token?
    /// The payload up to here was handed to the connection.
    var payloadOffset = 0
    /// The last byte was handed to the connection: from now on APNs may process the push.
    var isSentWhole = false
    var status = 0
    var answeredID: String?
    var answeredChannelID: String?
    var retryAfterSeconds: Int64?
    var body: [UInt8] = []
    var answerHasEnded = false

    init(
        _ request: PendingRequest,
        deadline: MonotonicTime,
        counter: RequestCounter,
        completion: @escaping (APNsOutcome) -> Void,
    ) {
        self.request = request
        self.payload = request.payload
        self.deadline = deadline
        self.counter = counter
        self.completion = completion
        counter.count += 1
    }

    deinit {
        complete(.unanswered(APNsFailure(.closed), mayHaveBeenProcessed: isSentWhole))
    }

    var isCompleted: Bool { completion == nil }

    /// Tells the caller, the first time.
    func complete(_ outcome: APNsOutcome) {
        guard let completion else { return }
        self.completion = nil
        counter.count -= 1
        completion(outcome)
    }

    /// Forgets an earlier stream.
    func prepare(submittedAt now: MonotonicTime, token: ProviderTokenCache.Token) {
        submittedAt = now
        self.token = token
        payloadOffset = 0
        isSentWhole = false
        status = 0
        answeredID = nil
        answeredChannelID = nil
        retryAfterSeconds = nil
        body = []
        answerHasEnded = false
    }

    /// What came back, if it is an answer: a 200 to a push is one as soon as its headers are there.
    var response: APNsResponse? {
        guard (status == 200 && request.isPush) || (answerHasEnded && status > 0) else { return nil }
        var response = APNsResponse(
            status: status,
            body: body,
            apnsID: answeredID,
            retryAfterSeconds: retryAfterSeconds,
        )
        if !request.isPush, 200...299 ~= status {
            response.channelID = answeredChannelID
            response.body = body
        }
        return response
    }
}

/// How many pushes of a client are under way.
final class RequestCounter {
    var count = 0
}
