import PostgresClient

/// What one recipient has to write down.
struct SettlementEntry {
    let task: RecipientTask
    let row: DeliveryStore.Entry
    /// It may have been written already, by a unit whose outcome is unknown.
    var mayBeRepeated = false

    init(_ task: RecipientTask, _ settlement: Settlement) {
        let message = task.message.underWay
        self.task = task
        row = DeliveryStore.Entry(
            receipt: message.receipt,
            sdkAppID: message.order.sdkAppID,
            account: task.account,
            laID: message.order.activity?.laID,
            event: message.order.activity?.content.event,
            deadline: message.deadline,
            hasRow: task.hasRow,
            settlement: settlement,
            sent: task.sent,
        )
    }

    func repeated(ifUnknown error: PostgresError) -> SettlementEntry {
        var entry = self
        entry.mayBeRepeated = mayBeRepeated || error.outcomeIsUnknown
        return entry
    }

    /// Whether nothing is left to do for the recipient.
    var isFinished: Bool {
        if case .finished = row.settlement.next { true } else { false }
    }

    /// Whether the recipient leaves memory with this.
    var isLast: Bool {
        if case .fallingBack = row.settlement.next { false } else { true }
    }
}
