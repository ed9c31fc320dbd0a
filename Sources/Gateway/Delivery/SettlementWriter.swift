import Logging
import PostgresClient

/// Writes outcomes into PostgreSQL, as many as there are in one transaction, until it takes them.
///
/// It lives on one lane's thread.
final class SettlementWriter {
    /// Whether a recipient is still this process's, asked before it is written and tried again.
    var isCurrent: (RecipientTask) -> Bool = { _ in false }
    /// Told of each entry that stands in the database.
    var onWritten: (SettlementEntry) -> Void = { _ in }

    private let store: DeliveryStore
    private let instance: GatewayInstance
    private let logger: Logger
    private let signal = Signal()
    private var waiting: [SettlementEntry] = []
    /// What PostgreSQL refused, to be tried again later.
    private var refused: [SettlementEntry] = []
    private var isClosed = false

    init(store: DeliveryStore, instance: GatewayInstance, logger: Logger) {
        self.store = store
        self.instance = instance
        self.logger = logger
    }

    func append(_ entry: SettlementEntry) {
        waiting.append(entry)
        signal.set()
    }

    /// Tries again what PostgreSQL refused.
    func retryRefused() {
        guard !refused.isEmpty else { return }
        waiting.append(contentsOf: refused)
        refused = []
        signal.set()
    }

    /// Forgets all of it; the rows stay as they are.
    func drop() {
        waiting = []
        refused = []
    }

    /// Lets ``run()`` end.
    func close() {
        isClosed = true
        signal.set()
    }

    /// Writes what there is, until ``close()``.
    func run() async {
        while !isClosed {
            await signal.wait()
            while !waiting.isEmpty, !isClosed {
                await write(waiting.removePrefix(DeliveryEngine.batchSize))
            }
        }
    }

    private func write(_ batch: [SettlementEntry]) async {
        var parts = [batch]
        while let part = parts.popLast() {
            let current = part.allSatisfy { isCurrent($0.task) } ? part : part.filter { isCurrent($0.task) }
            guard !current.isEmpty else { continue }
            guard let owner = instance.id(at: .now) else {
                // No heartbeat came through: all work is dropped as soon as the instance has a new id.
                parts.append(current)
                try? await Task.sleep(for: .milliseconds(200))
                continue
            }
            do throws(PostgresError) {
                try await store.settle(
                    current.map(\.row),
                    completed: completed(by: current),
                    shared: shared(by: current),
                    owner: owner,
                    mayBeRepeated: current.contains(where: \.mayBeRepeated),
                )
                for entry in current {
                    onWritten(entry)
                }
            } catch {
                if error.isTransient(forBatchOf: current.count) {
                    parts.append(current.map { $0.repeated(ifUnknown: error) })
                    try? await Task.sleep(for: .milliseconds(200))
                } else if current.count > 1 {
                    parts.append(Array(current[(current.count / 2)...]))
                    parts.append(Array(current[..<(current.count / 2)]))
                } else {
                    let id = current[0].task.message.underWay.receipt.id
                    instance.alarms.raise(.databaseRefused(error, for: "an outcome"))
                    logger.error(
                        "PostgreSQL refused an outcome; it is tried again",
                        ["message_id": .integer(id), "error": .describing(error)],
                    )
                    refused.append(contentsOf: current)
                }
            }
        }
    }

    /// Messages of which nothing is left once these are written.
    private func completed(by entries: [SettlementEntry]) -> [Int64] {
        var ending: [ObjectIdentifier: (message: MessageTask, count: Int)] = [:]
        for entry in entries where entry.isLast {
            let message = entry.task.message
            ending[ObjectIdentifier(message), default: (message, 0)].count += 1
        }
        return ending.values
            .filter { $0.message.isWhole && !$0.message.isChunk && $0.message.remaining == $0.count }
            .map { $0.message.underWay.receipt.id }
    }

    private func shared(by entries: [SettlementEntry]) -> [Int64] {
        Array(Set(entries.filter { $0.task.message.isShared }.map { $0.task.message.underWay.receipt.id }))
    }
}
