import CLibpq

/// A column of a row: its place from 0, or its name in the answer.
public enum PostgresColumn: Sendable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    /// The place, from 0.
    case index(Int)
    /// The name, in lower case unless it is quoted in the SQL. A place is faster.
    case name(StaticString)

    /// A place, from 0.
    public init(integerLiteral value: Int) {
        self = .index(value)
    }

    /// A name.
    public init(stringLiteral value: StaticString) {
        self = .name(value)
    }

    var description: String {
        switch self {
        case .index(let index): String(index)
        case .name(let name): name.description
        }
    }
}

/// One row of a result. Every getter throws `unexpectedResult` when the column is missing, of another type, or NULL
/// where a value was asked for; none traps.
public struct PostgresRow: Sendable {
    let memory: ResultMemory
    let index: Int32

    // MARK: - Values

    /// A `bigint`, `integer`, `smallint` or `oid`.
    public func integer(_ column: PostgresColumn) throws(PostgresError) -> Int64 {
        try value(column, integerOrNil(column))
    }

    /// A `bigint`, `integer`, `smallint` or `oid`; nil for NULL.
    public func integerOrNil(_ column: PostgresColumn) throws(PostgresError) -> Int64? {
        try read(column, Self.decodeInteger)
    }

    /// A `text`, `varchar`, `char`, `name`, `json` or an enum.
    public func text(_ column: PostgresColumn) throws(PostgresError) -> String {
        try value(column, textOrNil(column))
    }

    /// A `text`, `varchar`, `char`, `name`, `json` or an enum; nil for NULL.
    public func textOrNil(_ column: PostgresColumn) throws(PostgresError) -> String? {
        try read(column, Self.decodeText)
    }

    /// A `bytea`, or the 16 bytes of a `uuid`.
    public func bytes(_ column: PostgresColumn) throws(PostgresError) -> [UInt8] {
        try value(column, bytesOrNil(column))
    }

    /// A `bytea`, or the 16 bytes of a `uuid`; nil for NULL.
    public func bytesOrNil(_ column: PostgresColumn) throws(PostgresError) -> [UInt8]? {
        try read(column, Self.decodeBytes)
    }

    /// A `boolean`.
    public func boolean(_ column: PostgresColumn) throws(PostgresError) -> Bool {
        try value(column, booleanOrNil(column))
    }

    /// A `boolean`; nil for NULL.
    public func booleanOrNil(_ column: PostgresColumn) throws(PostgresError) -> Bool? {
        try read(column, Self.decodeBoolean)
    }

    /// A `double precision` or `real`.
    public func double(_ column: PostgresColumn) throws(PostgresError) -> Double {
        try value(column, doubleOrNil(column))
    }

    /// A `double precision` or `real`; nil for NULL.
    public func doubleOrNil(_ column: PostgresColumn) throws(PostgresError) -> Double? {
        try read(column, Self.decodeDouble)
    }

    /// A `timestamptz` or `timestamp` in microseconds since the Unix epoch. `infinity` is not a number and throws.
    public func timestampMicroseconds(_ column: PostgresColumn) throws(PostgresError) -> Int64 {
        try value(column, timestampMicrosecondsOrNil(column))
    }

    /// A `timestamptz` or `timestamp` in microseconds since the Unix epoch; nil for NULL.
    public func timestampMicrosecondsOrNil(_ column: PostgresColumn) throws(PostgresError) -> Int64? {
        try read(column, Self.decodeTimestamp)
    }

    // MARK: - Arrays of one dimension

    /// A `bigint[]`, `integer[]` or `smallint[]`, with nil for NULL elements.
    public func integers(_ column: PostgresColumn) throws(PostgresError) -> [Int64?] {
        try elements(column, Self.decodeInteger)
    }

    /// A `text[]` or `varchar[]`, with nil for NULL elements.
    public func texts(_ column: PostgresColumn) throws(PostgresError) -> [String?] {
        try elements(column, Self.decodeText)
    }

    /// A `bytea[]` or `uuid[]`, with nil for NULL elements.
    public func byteArrays(_ column: PostgresColumn) throws(PostgresError) -> [[UInt8]?] {
        try elements(column, Self.decodeBytes)
    }

    /// A `boolean[]`, with nil for NULL elements.
    public func booleans(_ column: PostgresColumn) throws(PostgresError) -> [Bool?] {
        try elements(column, Self.decodeBoolean)
    }

    /// A `timestamptz[]` in microseconds since the Unix epoch, with nil for NULL elements.
    public func timestampsMicroseconds(_ column: PostgresColumn) throws(PostgresError) -> [Int64?] {
        try elements(column, Self.decodeTimestamp)
    }

    // MARK: - Reading

    private typealias Decode<Value> = (_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> Value?

    private func value<Value>(_ column: PostgresColumn, _ value: Value?) throws(PostgresError) -> Value {
        guard let value else { throw unexpected(column) }
        return value
    }

    private func unexpected(_ column: PostgresColumn) -> PostgresError {
        PostgresError(.unexpectedResult(column: column.description))
    }

    private func read<Value>(_ column: PostgresColumn, _ decode: Decode<Value>) throws(PostgresError) -> Value? {
        let result = memory.result
        let number: Int32 =
            switch column {
            case .index(let index): Int32(clamping: index)
            case .name(let name) where name.hasPointerRepresentation:
                name.withUTF8Buffer {
                    PQfnumber(result, UnsafeRawPointer($0.baseAddress)?.assumingMemoryBound(to: CChar.self))
                }
            case .name(let name): PQfnumber(result, name.description)
            }
        guard number >= 0, number < PQnfields(result), index >= 0, index < PQntuples(result),
            PQfformat(result, number) == 1
        else { throw unexpected(column) }
        if PQgetisnull(result, index, number) == 1 { return nil }
        let bytes = UnsafeRawBufferPointer(
            start: PQgetvalue(result, index, number),
            count: Int(PQgetlength(result, index, number)),
        )
        guard let value = decode(PQftype(result, number), bytes) else { throw unexpected(column) }
        return value
    }

    private func elements<Value>(
        _ column: PostgresColumn,
        _ decode: Decode<Value>,
    ) throws(PostgresError) -> [Value?] {
        let elements = try read(column) { _, bytes in Self.decodeArray(bytes, decode) }
        return try value(column, elements)
    }

    private static func decodeArray<Value>(_ bytes: UnsafeRawBufferPointer, _ decode: Decode<Value>) -> [Value?]? {
        var rest = bytes[...]
        func word() -> Int32? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return Int32(bigEndian: UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: Int32.self))
        }
        guard let dimensions = word(), word() != nil, let type = word() else { return nil }
        if dimensions == 0 { return [] }
        // Each element takes at least its length's four bytes: a count beyond that is not a count.
        guard dimensions == 1, let count = word(), word() != nil, count >= 0, Int(count) <= rest.count / 4 else {
            return nil
        }
        var values: [Value?] = []
        values.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let length = word() else { return nil }
            if length == -1 {
                values.append(nil)
                continue
            }
            guard length >= 0, Int(length) <= rest.count else { return nil }
            let element = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(length)))
            guard let value = decode(UInt32(bitPattern: type), element) else { return nil }
            values.append(value)
            rest = rest.dropFirst(Int(length))
        }
        return values
    }
}

// MARK: - Binary forms, by the `*_send` functions of PostgreSQL

extension PostgresRow {
    private static func decodeInteger(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> Int64? {
        switch (type, bytes.count) {
        case (20, 8): Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        case (23, 4): Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case (21, 2): Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case (26, 4): Int64(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
        default: nil
        }
    }

    private static func decodeText(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> String? {
        switch type {
        // "char", name, text, json, unknown, bpchar, varchar; from 16384 on types of the schema, such as enums.
        case 18, 19, 25, 114, 705, 1042, 1043, 16384...: String(validating: bytes, as: UTF8.self)
        default: nil
        }
    }

    private static func decodeBytes(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        type == 17 || type == 2950 ? [UInt8](bytes) : nil
    }

    private static func decodeBoolean(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> Bool? {
        type == 16 && bytes.count == 1 ? bytes[0] != 0 : nil
    }

    private static func decodeDouble(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> Double? {
        switch (type, bytes.count) {
        case (701, 8): Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
        case (700, 4): Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
        default: nil
        }
    }

    private static func decodeTimestamp(_ type: UInt32, _ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard type == 1184 || type == 1114, bytes.count == 8 else { return nil }
        let microseconds = Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        guard microseconds != .max, microseconds != .min else { return nil }
        let (result, overflow) = microseconds.addingReportingOverflow(microsecondsFromUnixToPostgresEpoch)
        return overflow ? nil : result
    }
}
