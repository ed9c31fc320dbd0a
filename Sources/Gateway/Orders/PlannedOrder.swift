/// An order with its time. A class: an order has many fields, and goes through many hands.
public final class PlannedOrder: Sendable {
    /// What the message asks for. Its lifetime counts from the time at which it is sent.
    public let order: PushOrder
    /// Where a request with the same digest was accepted within the last 120 seconds, or still waits for its time, the
    /// first message stands for this one. nil: every request is a message of its own.
    public let digest: RequestDigest?
    /// When to send it; nil, and what has passed: at once.
    public let sendAt: UnixTime?
    /// Whether it counts against the app's limits of pushes to all.
    public let isPushToAll: Bool

    /// Makes an order with its time.
    public init(order: PushOrder, digest: RequestDigest?, sendAt: UnixTime?, isPushToAll: Bool = false) {
        self.order = order
        self.digest = digest
        self.sendAt = sendAt
        self.isPushToAll = isPushToAll
    }

    /// The same, all phones of which decode the content by these schemas: it is not checked again when it is sent.
    public func fitting(_ schemas: ContentSchemas?) -> PlannedOrder {
        var order = order
        order.fitsAll = schemas
        return PlannedOrder(order: order, digest: digest, sendAt: sendAt, isPushToAll: isPushToAll)
    }
}
