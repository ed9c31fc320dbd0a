/// Why a unit of work failed, and what that says about the database.
///
/// The description names the SQLSTATE and the objects of the schema, never a parameter, a row or the server's DETAIL.
public struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    public enum Kind: Sendable, Hashable {
        /// The server refused the unit: nothing of it was stored. `sqlState` is one of PostgreSQL's five-letter codes
        /// (its manual, appendix A).
        case server(sqlState: String)
        /// The connection ended after the unit may have reached the server and before the answer: it may be stored.
        case connectionLost
        /// There was no connection, or it ended before anything of the unit was sent: nothing of it was stored.
        case notConnected
        /// A text held U+0000, which PostgreSQL cannot store. Nothing was sent.
        case invalidText
        /// A parameter is too large (256 MiB in a statement, 65,535 parameters) or a time that PostgreSQL cannot hold.
        /// Nothing was sent.
        case parameterOutOfRange
        /// The answer does not have the column, its type or a value where one was asked for. The unit was stored.
        case unexpectedResult(column: String)
        /// The server stayed silent for longer than the statement time-out plus a margin. The connection was closed;
        /// the unit may be stored. Or who asked would not wait so long.
        case timeout
    }

    /// What went wrong.
    public let kind: Kind
    /// The constraint that refused a row, as the server names it.
    public let constraint: String?
    /// The table, as the server names it.
    public let table: String?
    /// The column, as the server names it.
    public let column: String?
    /// Further words that hold no data: why a login failed, or which name an SQL text has wrong.
    public let reason: String?

    /// Makes an error; for who decodes a result and misses something in it. Nothing but ``Kind`` and names of the
    /// schema may go in: the description is logged.
    public init(
        _ kind: Kind,
        constraint: String? = nil,
        table: String? = nil,
        column: String? = nil,
        reason: String? = nil,
    ) {
        self.kind = kind
        self.constraint = constraint
        self.table = table
        self.column = column
        self.reason = reason
    }

    /// Whether the unit may have been stored although it failed here: to be repeated only where a repeat does no harm.
    public var outcomeIsUnknown: Bool {
        switch kind {
        case .connectionLost, .timeout: true
        case .server, .notConnected, .invalidText, .parameterOutOfRange, .unexpectedResult: false
        }
    }

    /// The SQLSTATE of ``Kind/server(sqlState:)``, nil for the other kinds.
    public var sqlState: String? {
        if case .server(let sqlState) = kind { sqlState } else { nil }
    }

    /// What may be logged: codes and the schema's names, no data.
    public var description: String {
        var text = summary
        if let constraint { text += ", constraint \(constraint)" }
        if let table { text += ", table \(table)" }
        if let column { text += ", column \(column)" }
        if let reason { text += ": \(reason)" }
        return text
    }

    private var summary: String {
        switch kind {
        case .server(let sqlState): "PostgreSQL error \(sqlState) (\(PostgresError.condition(sqlState)))"
        case .connectionLost: "the connection to PostgreSQL was lost, the outcome is unknown"
        case .notConnected: "not connected to PostgreSQL"
        case .invalidText: "a text holds U+0000"
        case .parameterOutOfRange: "a parameter is too large for PostgreSQL"
        case .unexpectedResult(let column): "the answer has no such value in column \(column)"
        case .timeout: "PostgreSQL did not answer in time, the outcome is unknown"
        }
    }

    private static func condition(_ sqlState: String) -> String {
        switch sqlState {
        case "22P02": "invalid text representation"
        case "23502": "not null violation"
        case "23503": "foreign key violation"
        case "23505": "unique violation"
        case "23514": "check violation"
        case "40001": "serialization failure"
        case "40P01": "deadlock detected"
        case "42501": "insufficient privilege"
        case "42601": "syntax error"
        case "42703": "undefined column"
        case "42883": "undefined function"
        case "42P01": "undefined table"
        case "53300": "too many connections"
        case "55P03": "lock not available"
        case "57014": "query cancelled"
        default: conditionClass(sqlState.prefix(2))
        }
    }

    private static func conditionClass(_ code: Substring) -> String {
        switch code {
        case "08": "connection exception"
        case "0A": "feature not supported"
        case "21": "cardinality violation"
        case "22": "data exception"
        case "23": "integrity constraint violation"
        case "25": "invalid transaction state"
        case "26": "invalid statement name"
        case "28": "invalid authorization"
        case "40": "transaction rollback"
        case "42": "syntax error or access rule violation"
        case "53": "insufficient resources"
        case "54": "program limit exceeded"
        case "55": "object not in prerequisite state"
        case "57": "operator intervention"
        case "58": "system error"
        case "P0": "raised by a function"
        case "XX": "internal error"
        default: "other"
        }
    }
}
