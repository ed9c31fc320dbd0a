/// A parameter's type, by its object identifier in every PostgreSQL server (`pg_type.dat`).
public enum PostgresType: UInt32, Sendable, Hashable {
    /// `boolean`
    case boolean = 16
    /// `bytea`
    case bytes = 17
    /// `bigint`
    case integer = 20
    /// `integer`
    case integer32 = 23
    /// `text`
    case text = 25
    /// `double precision`
    case double = 701
    /// `timestamptz`
    case timestamp = 1184
    /// `boolean[]`
    case booleans = 1000
    /// `bytea[]`
    case byteArrays = 1001
    /// `integer[]`
    case integers32 = 1007
    /// `text[]`
    case texts = 1009
    /// `bigint[]`
    case integers = 1016
    /// `timestamptz[]`
    case timestamps = 1185
}

/// PostgreSQL counts a `timestamptz` in microseconds since 2000-01-01 00:00:00 UTC; this is that moment in Unix time.
let microsecondsFromUnixToPostgresEpoch: Int64 = 946_684_800_000_000
