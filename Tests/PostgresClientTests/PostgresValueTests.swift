import PostgresClient
import TestSupport
import Testing

@Suite("PostgresParameter and PostgresRow", .timeLimit(.minutes(5)))
struct PostgresValueTests {
    /// What a value becomes on its way through the server.
    private func echo<Value: Sendable>(
        _ parameter: PostgresParameter,
        _ get: @Sendable (PostgresRow) throws -> Value,
    ) async throws -> Value {
        try await Database(isFresh: false).connect { _, connection in
            let result = try await connection.run(PostgresStatement("SELECT $1 AS value", [parameter]))
            return try get(try #require(result.rows.first))
        }
    }

    @Test("integers keep their value", arguments: [Int64.min, -1, 0, 1, Int64.max, nil])
    func integers(value: Int64?) async throws {
        #expect(try await echo(.integer(value)) { try $0.integerOrNil(0) } == value)
    }

    @Test("32-bit integers keep their value", arguments: [Int32.min, -1, 0, Int32.max, nil])
    func integers32(value: Int32?) async throws {
        #expect(try await echo(.integer32(value)) { try $0.integerOrNil("value") } == value.map(Int64.init))
    }

    @Test("texts keep every character", arguments: ["", "alice", "日本語 🇨🇭 e\u{301}", "\u{1}\u{FFFD}'\"\\", nil])
    func texts(value: String?) async throws {
        let echoed = try await echo(.text(value)) { try $0.textOrNil("value") }
        #expect(echoed.map { Array($0.utf8) } == value.map { Array($0.utf8) })
    }

    @Test("bytes keep zeros, and an empty value is not NULL", arguments: [[], [0], [0, 255, 0, 92], nil])
    func bytes(value: [UInt8]?) async throws {
        #expect(try await echo(.bytes(value)) { try $0.bytesOrNil(0) } == value)
    }

    @Test("1 MB of bytes comes back, alone and in an array")
    func megabyte() async throws {
        let value = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try await echo(.bytes(value)) { try $0.bytes(0) } == value)
        #expect(try await echo(.byteArrays([value, nil, []])) { try $0.byteArrays(0) } == [value, nil, []])
    }

    @Test("a statement that is printed shows no value")
    func descriptionWithoutValues() {
        let statement = PostgresStatement("SELECT $1, $2", [.text("swordfish"), .texts(["swordfish"])])
        var dumped = ""
        dump(statement, to: &dumped)
        #expect(!dumped.contains("swordfish"))
        #expect(!"\(statement) \(String(reflecting: statement))".contains("swordfish"))
    }

    @Test("booleans, doubles and times keep their value")
    func others() async throws {
        #expect(try await echo(.boolean(true)) { try $0.boolean(0) })
        #expect(try await echo(.boolean(nil)) { try $0.booleanOrNil(0) } == nil)
        #expect(try await echo(.double(-0.1)) { try $0.double(0) } == -0.1)
        #expect(try await echo(.double(nil)) { try $0.doubleOrNil(0) } == nil)
        for time: Int64? in [0, 1_700_000_000_123_456, -62_000_000_000_000_000, nil] {
            let echoed = try await echo(.timestamp(microsecondsSinceUnixEpoch: time)) {
                try $0.timestampMicrosecondsOrNil(0)
            }
            #expect(echoed == time)
        }
    }

    @Test("a time means the same moment to the server")
    func timeIsSameMoment() async throws {
        let time = PostgresParameter.timestamp(microsecondsSinceUnixEpoch: 1_700_000_000_500_000)
        let seconds = try await Database(isFresh: false).connect { _, connection in
            let select: StaticString = "SELECT extract(epoch FROM $1)::double precision, to_timestamp(1700000000.5)"
            let row = try await connection.run(PostgresStatement(select, [time])).rows[0]
            return (try row.double(0), try row.timestampMicroseconds(1))
        }
        #expect(seconds.0 == 1_700_000_000.5)
        #expect(seconds.1 == 1_700_000_000_500_000)
    }

    @Test("a time beyond what PostgreSQL counts is refused", arguments: [Int64.min, Int64.min + 946_684_800_000_000])
    func timeOutOfRange(time: Int64) async throws {
        for parameter in [.timestamp(microsecondsSinceUnixEpoch: time), PostgresParameter.timestamps([0, time])] {
            let error = await #expect(throws: PostgresError.self) { try await echo(parameter) { try $0.integer(0) } }
            #expect(error?.kind == .parameterOutOfRange)
        }
    }

    @Test("arrays keep their elements, NULLs and order")
    func arrays() async throws {
        #expect(try await echo(.integers([1, -2, .max])) { try $0.integers(0) } == [1, -2, .max])
        #expect(try await echo(.integers([1, nil])) { try $0.integers(0) } == [1, nil])
        #expect(try await echo(.integers32([1, -2, .min])) { try $0.integers(0) } == [1, -2, Int64(Int32.min)])
        #expect(try await echo(.integers32([nil, 3])) { try $0.integers(0) } == [nil, 3])
        #expect(try await echo(.booleans([true, false])) { try $0.booleans(0) } == [true, false])
        #expect(try await echo(.booleans([nil, true])) { try $0.booleans(0) } == [nil, true])
        #expect(try await echo(.texts(["a", nil, "", "ü🎉,{}\""])) { try $0.texts(0) } == ["a", nil, "", "ü🎉,{}\""])
        #expect(try await echo(.byteArrays([[0], nil, []])) { try $0.byteArrays(0) } == [[0], nil, []])
        let times = try await echo(.timestamps([0, nil, 1_700_000_000_000_001])) { try $0.timestampsMicroseconds(0) }
        #expect(times == [0, nil, 1_700_000_000_000_001])
    }

    @Test(
        "an empty array of any type is an array without elements",
        arguments: [
            PostgresParameter.integers([] as [Int64]), .integers32([] as [Int32]), .booleans([] as [Bool]), .texts([]),
            .byteArrays([]), .timestamps([]),
        ],
    )
    func emptyArrays(parameter: PostgresParameter) async throws {
        let isEmpty = try await Database(isFresh: false).connect { _, connection in
            let select = PostgresStatement("SELECT cardinality($1), $1 = '{}'", [parameter])
            let row = try await connection.run(select).rows[0]
            return try row.integer(0) == 0 && row.boolean(1)
        }
        #expect(isEmpty)
        #expect(try await echo(.integers([] as [Int64])) { try $0.integers(0) } == [])
    }

    @Test(
        "NULL of each type is NULL",
        arguments: [
            PostgresType.boolean, .bytes, .integer, .integer32, .text, .double, .timestamp, .booleans, .byteArrays,
            .integers32, .texts, .integers, .timestamps,
        ]
    )
    func nulls(type: PostgresType) async throws {
        let isNull = try await Database(isFresh: false).connect { _, connection in
            try await connection.run(PostgresStatement("SELECT $1 IS NULL", [.null(of: type)])).rows[0].boolean(0)
        }
        #expect(isNull)
    }

    @Test("500 rows travel in and out as arrays")
    func batch() async throws {
        let ids = (0..<500).map(Int64.init)
        let names: [String?] = ids.map { $0 % 7 == 0 ? nil : "account-\($0)" }
        let database = try await Database()
        _ = try database.psql("CREATE TABLE item (id bigint, name text)")
        let (affected, read) = try await database.connect { _, connection in
            let insert = PostgresStatement(
                "INSERT INTO item SELECT * FROM unnest($1, $2)",
                [.integers(ids), .texts(names)],
            )
            let results = try await connection.run([insert, PostgresStatement("SELECT id, name FROM item ORDER BY id")])
            return (results[0].affectedRows, try results[1].rows.map { try $0.textOrNil("name") })
        }
        #expect(affected == 500)
        #expect(read == names)
    }

    @Test("a value that is not what was asked for is an error")
    func mismatch() async throws {
        let select: StaticString = """
            SELECT 1::bigint AS number, 'a'::text AS word, NULL::bigint AS nothing, 1.5::numeric AS exact,
                'infinity'::timestamptz AS forever, ARRAY[[1, 2], [3, 4]]::bigint[] AS square, '{1}'::text[] AS words
            """
        let errors = try await Database(isFresh: false).connect { _, connection in
            let row = try await connection.run(PostgresStatement(select)).rows[0]
            let getters: [() throws -> Any] = [
                { try row.text("number") }, { try row.integer("word") }, { try row.integer("nothing") },
                { try row.integer("exact") }, { try row.timestampMicroseconds("forever") },
                { try row.integers("square") }, { try row.integers("words") }, { try row.integers("number") },
                { try row.integer("missing") }, { try row.integer(7) }, { try row.integer(-1) },
                { try row.boolean("number") }, { try row.bytes("word") }, { try row.double("number") },
            ]
            return getters.map { getter in
                do {
                    _ = try getter()
                    return "no error"
                } catch {
                    return (error as? PostgresError)?.description ?? "another error"
                }
            }
        }
        #expect(errors.allSatisfy { $0.hasPrefix("the answer has no such value in column ") }, "\(errors)")
    }

    @Test("a row that is not there is an error when it is read")
    func missingRow() async throws {
        let kinds = try await Database(isFresh: false).connect { _, connection in
            let rows = try await connection.run(PostgresStatement("SELECT 1::bigint")).rows
            return [-1, 1, Int.max].map { position in
                do throws(PostgresError) {
                    return "\(try rows[position].integer(0))"
                } catch {
                    return "\(error.kind)"
                }
            }
        }
        #expect(kinds == Array(repeating: #"unexpectedResult(column: "0")"#, count: 3))
    }

    @Test("integers of every width, enums, uuid and json are read")
    func otherColumnTypes() async throws {
        let database = try await Database()
        _ = try database.psql("CREATE TYPE mood AS ENUM ('glad')")
        let values = try await database.connect { _, connection in
            let select: StaticString = """
                SELECT 1::smallint, 2::integer, 3::oid, 'glad'::mood, '{"a": 1}'::json, 'x'::varchar, 'n'::name,
                    '00000000-0000-0000-0000-000000000001'::uuid
                """
            let row = try await connection.run(PostgresStatement(select)).rows[0]
            let integers = try (0..<3).map { try row.integer(.index($0)) }
            let texts = try (3..<7).map { try row.text(.index($0)) }
            return "\(integers) \(texts) \(try row.bytes(7).count)"
        }
        #expect(values == #"[1, 2, 3] ["glad", "{\"a\": 1}", "x", "n"] 16"#)
    }
}
