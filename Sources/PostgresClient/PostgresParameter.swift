/// A value for `$1`, `$2`, ... of a statement. It travels in binary, with its type and an explicit length.
///
/// A column of another type (`jsonb`, `uuid`, an enum) needs a cast in the SQL: `$1::text::jsonb`.
public struct PostgresParameter: Sendable {
    enum Value: Sendable {
        case null
        /// The low `length` bytes of `bits`, most significant first.
        case fixed(bits: UInt64, length: Int)
        case text(String)
        case bytes([UInt8])
        /// The whole unit fails with this before anything is sent.
        case refused(PostgresError.Kind)
    }

    let type: PostgresType
    let value: Value

    init(_ type: PostgresType, _ value: Value) {
        self.type = type
        self.value = value
    }

    /// A NULL of `type`.
    public static func null(of type: PostgresType) -> PostgresParameter {
        PostgresParameter(type, .null)
    }

    /// A `bigint`, NULL for nil.
    public static func integer(_ value: Int64?) -> PostgresParameter {
        guard let value else { return .null(of: .integer) }
        return PostgresParameter(.integer, .fixed(bits: UInt64(bitPattern: value), length: 8))
    }

    /// An `integer`, NULL for nil.
    public static func integer32(_ value: Int32?) -> PostgresParameter {
        guard let value else { return .null(of: .integer32) }
        return PostgresParameter(.integer32, .fixed(bits: UInt64(UInt32(bitPattern: value)), length: 4))
    }

    /// A `boolean`, NULL for nil.
    public static func boolean(_ value: Bool?) -> PostgresParameter {
        guard let value else { return .null(of: .boolean) }
        return PostgresParameter(.boolean, .fixed(bits: value ? 1 : 0, length: 1))
    }

    /// A `double precision`, NULL for nil.
    public static func double(_ value: Double?) -> PostgresParameter {
        guard let value else { return .null(of: .double) }
        return PostgresParameter(.double, .fixed(bits: value.bitPattern, length: 8))
    }

    /// A `text`, NULL for nil. PostgreSQL stores no U+0000: a text with one fails its unit with `invalidText`.
    public static func text(_ value: String?) -> PostgresParameter {
        guard let value else { return .null(of: .text) }
        guard !value.utf8.contains(0) else { return PostgresParameter(.text, .refused(.invalidText)) }
        return PostgresParameter(.text, .text(value))
    }

    /// A `bytea`, NULL for nil. Any bytes, zeros included.
    public static func bytes(_ value: [UInt8]?) -> PostgresParameter {
        guard let value else { return .null(of: .bytes) }
        return PostgresParameter(.bytes, .bytes(value))
    }

    /// A `timestamptz`, NULL for nil. A time that PostgreSQL cannot hold fails its unit with `parameterOutOfRange`.
    public static func timestamp(microsecondsSinceUnixEpoch value: Int64?) -> PostgresParameter {
        guard let value else { return .null(of: .timestamp) }
        guard let microseconds = postgresMicroseconds(value) else {
            return PostgresParameter(.timestamp, .refused(.parameterOutOfRange))
        }
        return PostgresParameter(.timestamp, .fixed(bits: UInt64(bitPattern: microseconds), length: 8))
    }

    /// Nil also for the two ends of Int64, which PostgreSQL reads as `-infinity` and `infinity`.
    static func postgresMicroseconds(_ microsecondsSinceUnixEpoch: Int64) -> Int64? {
        let (result, overflow) =
            microsecondsSinceUnixEpoch
            .subtractingReportingOverflow(microsecondsFromUnixToPostgresEpoch)
        return overflow || result == .min || result == .max ? nil : result
    }
}

/// Names the type only, also where a statement is printed or mirrored as a whole: the value may be a token or content.
extension PostgresParameter: CustomStringConvertible, CustomReflectable {
    /// The type, without the value.
    public var description: String { "parameter of type \(type)" }

    /// Has no children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
