/// A message to an audience in a lane's memory: never more of its recipients than one chunk.
final class FanOut {
    let receipt: AcceptedMessage
    let order: PushOrder
    let deadline: UnixTime
    /// The id of the instance under which it was begun; under another it is not this process's work any more.
    let owner: Int64
    /// Of the next chunk's recipients. Where it is quarantine, they are written down without being sent, and nothing
    /// follows them.
    private(set) var fate: DeliveryEngine.Fate
    var cursor: FanOutCursor
    /// Whether some of the chunk after the cursor may have been worked on before.
    private(set) var isResumed: Bool
    /// An older start that it was written down not to wait for.
    var undecidedStart: Int64?
    /// Of how many recipients it takes up the room.
    var places = 0
    /// Set when no recipient of the chunk is left in memory.
    let chunkIsDone = Signal()
    private var isDone: (() -> Void)?

    /// - Parameter isDone: called once, when a chunk went well or nothing is in memory any more.
    init(
        _ receipt: AcceptedMessage,
        _ order: PushOrder,
        deadline: UnixTime,
        owner: Int64,
        fate: DeliveryEngine.Fate = .toBeSent,
        cursor: FanOutCursor = FanOutCursor(),
        isResumed: Bool = false,
        isDone: @escaping () -> Void = {},
    ) {
        self.receipt = receipt
        self.order = order
        self.deadline = deadline
        self.owner = owner
        self.fate = fate
        self.cursor = cursor
        self.isResumed = isResumed
        self.isDone = isDone
    }

    /// A chunk has ended: nobody has worked on the next one.
    func chunkEnded(listing recipients: Int) {
        isResumed = false
        if fate == .takenOver { fate = .toBeSent }
        cursor.listed += Int64(recipients)
    }

    /// Tells whoever took it up that it killed nobody.
    func wentWell() {
        isDone?()
        isDone = nil
    }
}
