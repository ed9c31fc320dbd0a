import PostgresClient

extension PostgresError {
    /// Whether the same unit may succeed a moment later: PostgreSQL is away, shuts down, has no connection left, is
    /// read-only for now, or a deadlock was resolved at this unit's cost.
    var isTransient: Bool {
        switch kind {
        case .connectionLost, .notConnected, .timeout: true
        case .server(let state):
            ["40001", "40P01", "57P01", "57P02", "57P03", "53300", "57014", "25006"].contains(state)
                || state.hasPrefix("08")
        case .invalidText, .parameterOutOfRange, .unexpectedResult: false
        }
    }
}
