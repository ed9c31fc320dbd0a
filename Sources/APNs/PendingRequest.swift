/// What goes on a stream.
enum PendingRequest {
    case push(APNsRequest)
    case channel(APNsChannelRequest)

    var service: APNsService {
        switch self {
        case .push: .device
        case .channel(let request): request.service
        }
    }

    var payload: [UInt8] {
        switch self {
        case .push(let request): request.payload
        case .channel(let request): request.payload
        }
    }

    /// The topic whose refusal holds others back. A request about channels has none: its caller waits for the answer, hears of
    /// the refusal, and may have mended it before the next.
    var topic: String? {
        switch self {
        case .push(let request): request.topic
        case .channel: nil
        }
    }

    /// Whose refusal may be about nobody else; a request about channels has none.
    var recipient: ConfigurationCircuit.Recipient? {
        switch self {
        case .push(let request): request.deviceToken
        case .channel: nil
        }
    }

    /// apns-id, or apns-request-id.
    var id: String {
        switch self {
        case .push(let request): request.apnsID
        case .channel(let request): request.requestID
        }
    }

    var isPush: Bool {
        if case .push = self { true } else { false }
    }

    /// What is kept of the body of an answer. Those to pushes are below 200 bytes; a list can name 10,000 channels.
    var answerLimit: Int { isPush ? PendingPush.bodyLimit : 4 << 20 }
}
