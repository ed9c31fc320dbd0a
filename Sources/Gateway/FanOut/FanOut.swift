/// A message to an audience in a lane's memory: never more of its recipients than one chunk.
final class FanOut {
    let receipt: AcceptedMessage
    let order: PushOrder
    let deadline: UnixTime
    /// The id of the instance under which it was begun; under another it is not this process's work any more.
    let owner: Int64
    /// Instances died with it: the next chunk is written down without being sent, and nothing follows it.
    let isQuarantined: Bool
    var cursor: FanOutCursor
    /// Whether some of the chunk after the cursor may have been worked on before.
    var isResumed: Bool
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
        isQuarantined: Bool = false,
        cursor: FanOutCursor = FanOutCursor(),
        isResumed: Bool = false,
        isDone: @escaping () -> Void = {},
    ) {
        self.receipt = receipt
        self.order = order
        self.deadline = deadline
        self.owner = owner
        self.isQuarantined = isQuarantined
        self.cursor = cursor
        self.isResumed = isResumed
        self.isDone = isDone
    }

    /// Tells whoever took it up that it killed nobody.
    func wentWell() {
        isDone?()
        isDone = nil
    }
}
