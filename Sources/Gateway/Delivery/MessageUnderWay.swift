import APNs
import LiveActivity

/// What all recipients of one message share while it is under way.
final class MessageUnderWay: Sendable {
    let receipt: AcceptedMessage
    let order: PushOrder
    let deadline: UnixTime
    let application: Application
    let certificates: [Int64: Certificate]

    init(
        receipt: AcceptedMessage,
        order: PushOrder,
        deadline: UnixTime,
        application: Application,
        certificates: [Int64: Certificate],
    ) {
        self.receipt = receipt
        self.order = order
        self.deadline = deadline
        self.application = application
        self.certificates = certificates
    }

    /// When an activity that started at `start` takes no more of this message's event.
    func endOfLife(startedAt start: UnixTime, event: ActivityEvent) -> UnixTime {
        start + ActivityLife.duration(for: event)
    }
}
