import PostgresClient

extension PostgresError {
    /// Whether the same unit may succeed a moment later: PostgreSQL is away, shuts down, is out of connections, memory or
    /// disk, is read-only for now, or a deadlock was resolved at this unit's cost.
    var isTransient: Bool {
        switch kind {
        case .connectionLost, .notConnected, .timeout: true
        case .server(let state):
            ["40001", "40P01", "57P01", "57P02", "57P03", "57014", "25006"].contains(state)
                || state.hasPrefix("08") || state.hasPrefix("53")
        case .invalidText, .parameterOutOfRange, .unexpectedResult: false
        }
    }

    /// The same for a unit of many rows: one that takes longer than the server allows is better halved.
    func isTransient(forBatchOf count: Int) -> Bool {
        isTransient && !(sqlState == "57014" && count > 1)
    }
}
