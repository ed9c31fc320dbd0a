import EventLoop
import Logging
import PostgresClient
import TestSupport
import Testing

@Suite("PostgresConnection", .timeLimit(.minutes(5)))
struct PostgresConnectionTests {
    private static let insert: StaticString = "INSERT INTO item VALUES ($1)"

    private static func item(_ id: Int64) -> PostgresStatement {
        PostgresStatement(insert, [.integer(id)])
    }

    @Test("1,000 units at once are each answered with their own result")
    func thousandUnits() async throws {
        let database = try await Database()
        let answers = try await database.connect { lane, connection in
            let units = (0..<1000).map { [PostgresStatement("SELECT $1 * 2", [.integer($0)])] }
            let tasks = submit(all: units, to: connection)
            await Task.yield()
            var answers: [Int64] = []
            for task in tasks {
                answers.append(try await task.value.get()[0].rows[0].integer(0))
            }
            #expect(connection.unitsInFlight == 0)
            return answers
        }
        #expect(answers == (0..<1000).map { $0 * 2 })
    }

    @Test("units larger than the socket's buffers in both directions all come back")
    func unitsLargerThanSocketBuffers() async throws {
        let database = try await Database()
        let lengths = try await database.connect { lane, connection in
            let units = (0..<24).map { number in
                [PostgresStatement("SELECT $1", [.bytes([UInt8](repeating: number, count: 1 << 20))])]
            }
            let tasks = submit(all: units, to: connection)
            var lengths: [Int] = []
            for (number, task) in tasks.enumerated() {
                let bytes = try await task.value.get()[0].rows[0].bytes(0)
                #expect(bytes.allSatisfy { $0 == UInt8(number) })
                lengths.append(bytes.count)
            }
            return lengths
        }
        #expect(lengths == Array(repeating: 1 << 20, count: 24))
    }

    @Test("a unit that fails leaves the ones before and after it alone")
    func failingUnitBetweenGoodOnes() async throws {
        let database = try await Database()
        _ = try database.psql("CREATE TABLE item (id bigint PRIMARY KEY)")
        let error = try await database.connect { lane, connection in
            let first = submit([Self.item(1)], to: connection)
            let failing = submit([Self.item(1)], to: connection)
            let last = submit([Self.item(2)], to: connection)
            _ = try await first.value.get()
            _ = try await last.value.get()
            return await failing.value.error
        }
        #expect(error?.kind == .server(sqlState: "23505"))
        #expect(error?.constraint == "item_pkey")
        #expect(error?.outcomeIsUnknown == false)
        #expect(try database.psql("SELECT id FROM item ORDER BY id") == "1\n2")
    }

    @Test("a second statement that fails takes the first of its unit back")
    func failingSecondStatement() async throws {
        let database = try await Database()
        _ = try database.psql("CREATE TABLE item (id bigint PRIMARY KEY)")
        let error = try await database.connect { lane, connection in
            let failing = submit([Self.item(1), Self.item(1), Self.item(2)], to: connection)
            let after = submit([Self.item(3)], to: connection)
            _ = try await after.value.get()
            return await failing.value.error
        }
        #expect(error?.sqlState == "23505")
        #expect(try database.psql("SELECT id FROM item") == "3")
    }

    @Test("a constraint that fails only at the commit fails the unit")
    func deferredConstraint() async throws {
        let database = try await Database()
        _ = try database.psql(
            """
            CREATE TABLE item (id bigint PRIMARY KEY,
                parent bigint REFERENCES item DEFERRABLE INITIALLY DEFERRED)
            """
        )
        let errors = try await database.connect { lane, connection in
            let orphan = PostgresStatement("INSERT INTO item VALUES ($1, $2)", [.integer(1), .integer(7)])
            let failing = submit([orphan], to: connection)
            let after = submit([Self.item(2)], to: connection)
            _ = try await after.value.get()
            return await failing.value.error
        }
        #expect(errors?.sqlState == "23503")
        #expect(try database.psql("SELECT id FROM item") == "2")
    }

    @Test("units under way when the session is terminated have an unknown outcome, later ones are not sent")
    func terminatedSession() async throws {
        let database = try await Database()
        try await database.connect { lane, connection in
            let process = try await connection.run(PostgresStatement("SELECT pg_backend_pid()")).rows[0].integer(0)
            let sleeps = Array(repeating: [PostgresStatement("SELECT pg_sleep(20)")], count: 5)
            let tasks = submit(all: sleeps, to: connection)
            await Task.yield()
            while try database.psql("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(20)'") == "0"
            {
                await Task.yield()
            }
            _ = try database.psql("SELECT pg_terminate_backend(\(process))")
            for task in tasks {
                let error = try #require(await task.value.error)
                #expect(error.kind == .connectionLost)
                #expect(error.outcomeIsUnknown)
            }
            #expect(!connection.isOpen)
            #expect(connection.unitsInFlight == 0)
            await #expect(throws: PostgresError.self) { try await connection.run(PostgresStatement("SELECT 1")) }
            let late = try #require(await submit([Self.item(1)], to: connection).value.error)
            #expect(late.kind == .notConnected)
            #expect(!late.outcomeIsUnknown)
        }
    }

    @Test("close resumes everyone who waits: sent units with an unknown outcome, unsent ones without")
    func closeResumesWaiters() async throws {
        let database = try await Database()
        let kinds = try await database.connect { lane, connection in
            let sent = submit([PostgresStatement("SELECT pg_sleep(20)")], to: connection)
            while try database.psql("SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(20)'") == "0"
            {
                await Task.yield()
            }
            let unsent = submit([PostgresStatement("SELECT 1")], to: connection)
            while connection.unitsInFlight < 2 {
                await Task.yield()
            }
            connection.close()
            return [await sent.value.error?.kind, await unsent.value.error?.kind]
        }
        #expect(kinds[0] == .connectionLost)
        #expect(kinds[1] == .notConnected || kinds[1] == .connectionLost)
    }

    @Test("a server that falls silent is given up with an unknown outcome")
    func silentServer() async throws {
        let database = try await Database()
        defer { database.lane.stop() }
        let kind = try await database.lane.run { [url = database.url] lane in
            // Below zero there is no time-out on the server, and of the margin of 5 s half a second is left.
            let connection = try await PostgresConnection.open(
                url,
                on: lane.loop,
                logger: Database.silent,
                statementTimeout: .milliseconds(-4500),
            )
            defer { connection.close() }
            return await submit([PostgresStatement("SELECT pg_sleep(20)")], to: connection).value.error?.kind
        }
        #expect(kind == .timeout)
    }

    @Test("a statement that takes too long is cancelled by the server")
    func statementTimeout() async throws {
        let database = try await Database()
        defer { database.lane.stop() }
        let error = try await database.lane.run { [url = database.url] lane in
            let connection = try await PostgresConnection.open(
                url,
                on: lane.loop,
                logger: Database.silent,
                statementTimeout: .milliseconds(50),
            )
            defer { connection.close() }
            let error = await submit([PostgresStatement("SELECT pg_sleep(20)")], to: connection).value.error
            #expect(connection.isOpen)
            return error
        }
        #expect(error?.sqlState == "57014")
    }

    @Test("an SQL text the server refuses fails with its own error, for every unit that was sent before the refusal")
    func refusedPreparation() async throws {
        let database = try await Database()
        let states = try await database.connect { lane, connection in
            let refused = Array(repeating: [PostgresStatement("SELECT nothing FROM nowhere")], count: 3)
            let tasks = submit(all: refused, to: connection)
            var states: [String?] = []
            for task in tasks {
                states.append(await task.value.error?.sqlState)
            }
            _ = try database.psql("CREATE TABLE nowhere AS SELECT 1 AS nothing")
            _ = try await connection.run(PostgresStatement("SELECT nothing FROM nowhere"))
            return states
        }
        #expect(states == ["42P01", "42P01", "42P01"])
    }

    @Test(
        "prepared statements that the server has forgotten are prepared again",
        arguments: ["DISCARD ALL", "DEALLOCATE ALL"],
    )
    func lostPreparedStatements(command: String) async throws {
        let database = try await Database()
        let answers = try await database.connect { lane, connection in
            let select: StaticString = "SELECT $1 + 1"
            _ = try await connection.run(PostgresStatement(select, [.integer(1)]))
            _ = try await connection.run(PostgresStatement(unsafeText: command))
            let units = (0..<3).map { [PostgresStatement(select, [.integer($0)])] }
            let tasks = submit(all: units, to: connection)
            var answers: [Int64] = []
            for task in tasks {
                answers.append(try await task.value.get()[0].rows[0].integer(0))
            }
            return answers
        }
        #expect(answers == [1, 2, 3])
    }

    @Test("a statement whose result columns changed with the schema is prepared again")
    func changedResultColumns() async throws {
        let database = try await Database()
        _ = try database.psql("CREATE TABLE item (id bigint); INSERT INTO item VALUES (4)")
        let text = try await database.connect { lane, connection in
            let select = PostgresStatement("SELECT * FROM item")
            _ = try await connection.run(select)
            _ = try database.psql("ALTER TABLE item ALTER id TYPE text")
            return try await connection.run(select).rows[0].text("id")
        }
        #expect(text == "4")
    }

    @Test("one text with different parameter types is prepared for each")
    func textWithDifferentTypes() async throws {
        let database = try await Database()
        let answers = try await database.connect { lane, connection in
            let select: StaticString = "SELECT $1"
            let integer = try await connection.run(PostgresStatement(select, [.integer(7)])).rows[0].integer(0)
            let text = try await connection.run(PostgresStatement(select, [.text("seven")])).rows[0].text(0)
            return "\(integer) \(text)"
        }
        #expect(answers == "7 seven")
    }

    @Test(
        "a text with U+0000 fails its unit before anything is sent",
        arguments: [
            PostgresStatement("INSERT INTO item VALUES ($1)", [.text("alice\0x")]),
            PostgresStatement("INSERT INTO item SELECT unnest($1)", [.texts(["alice", nil, "\0"])]),
            PostgresStatement(unsafeText: "INSERT INTO item VALUES ('alice') \0"),
        ]
    )
    func textWithZero(statement: PostgresStatement) async throws {
        let database = try await Database()
        _ = try database.psql("CREATE TABLE item (name text)")
        let error = try await database.connect { lane, connection in
            let good = PostgresStatement("INSERT INTO item VALUES ($1)", [.text("bob")])
            return await submit([good, statement], to: connection).value.error
        }
        #expect(error?.kind == .invalidText)
        #expect(try database.psql("SELECT count(*) FROM item") == "0")
    }

    @Test("COPY, which cannot be answered in a pipeline, fails and resumes the caller")
    func copyIsRefused() async throws {
        let database = try await Database()
        _ = try database.psql("CREATE TABLE item (id bigint)")
        let error = try await database.connect { lane, connection in
            await submit([PostgresStatement(unsafeText: "COPY item FROM STDIN")], to: connection).value.error
        }
        #expect(error != nil)
    }

    @Test("an empty unit has no results, an empty statement has one without rows")
    func emptyUnitAndStatement() async throws {
        let database = try await Database()
        let counts = try await database.connect { lane, connection in
            let none = try await connection.run([]).count
            let empty = try await connection.run([PostgresStatement(""), PostgresStatement("SELECT 1")])
            return [none, empty.count, empty[0].rows.count, empty[1].rows.count]
        }
        #expect(counts == [0, 2, 0, 1])
    }

    @Test("a login that fails says why and not with which password")
    func failedLogin() async throws {
        let server = try PrivatePostgres.shared()
        let urls = [
            "postgres://nobody:swordfish@127.0.0.1:\(server.port)/postgres",
            "postgres://nobody:swordfish@127.0.0.1:\(server.port)/postgres?swordfish=1",
            "postgres//nobody:swordfish@127.0.0.1",
            "postgres://nobody:swordfish@127.0.0.1:1/postgres",
        ]
        let lane = try LoopActor()
        defer { lane.stop() }
        for url in urls {
            let error = await #expect(throws: PostgresError.self) {
                try await lane.run { lane in
                    _ = try await PostgresConnection.open(url, on: lane.loop, logger: Database.silent)
                }
            }
            #expect(error?.kind == .notConnected)
            #expect(error?.reason?.isEmpty == false)
            #expect(error?.description.contains("swordfish") == false)
        }
    }

    @Test("an error's description holds no data")
    func errorWithoutData() async throws {
        let database = try await Database()
        _ = try database.psql("CREATE TABLE item (id bigint, name text UNIQUE)")
        let errors = try await database.connect { lane, connection in
            let insert: StaticString = "INSERT INTO item (name) VALUES ($1)"
            _ = try await connection.run(PostgresStatement(insert, [.text("swordfish")]))
            let statements = [
                PostgresStatement(insert, [.text("swordfish")]),
                PostgresStatement("SELECT $1::text::bigint", [.text("swordfish")]),
                PostgresStatement("SELECT $1::text::jsonb", [.text("swordfish")]),
            ]
            var errors: [String] = []
            for statement in statements {
                errors.append(try #require(await submit([statement], to: connection).value.error).description)
            }
            return errors
        }
        #expect(errors[0] == "PostgreSQL error 23505 (unique violation), constraint item_name_key, table item")
        #expect(errors.allSatisfy { !$0.contains("swordfish") })
    }

    @Test("a script of many statements is stored as a whole or not at all")
    func script() async throws {
        let database = try await Database()
        try await PostgresConnection.run(
            script: "CREATE TABLE a (id bigint); INSERT INTO a VALUES (1); INSERT INTO a VALUES (2)",
            url: database.url,
        )
        let error = await #expect(throws: PostgresError.self) {
            try await PostgresConnection.run(script: "DELETE FROM a; SELECT * FROM b", url: database.url)
        }
        #expect(error?.sqlState == "42P01")
        #expect(try database.psql("SELECT count(*) FROM a") == "2")
        database.lane.stop()
    }

    @Test("the session has the settings that bound a dead or slow peer, and the URL's own win")
    func sessionSettings() async throws {
        let database = try await Database()
        defer { database.lane.stop() }
        let settings = try await database.lane.run { [url = database.url] lane in
            let connection = try await PostgresConnection.open(
                url
                    + "?application_name=mine&client_encoding=LATIN1&options=-cidle_in_transaction_session_timeout%3D7s",
                on: lane.loop,
                logger: Database.silent,
                statementTimeout: .seconds(3),
                applicationName: "theirs",
            )
            defer { connection.close() }
            let names = [
                "application_name", "client_encoding", "statement_timeout", "idle_in_transaction_session_timeout",
                "tcp_user_timeout", "tcp_keepalives_idle",
            ]
            let select: StaticString =
                "SELECT current_setting(name) FROM unnest($1) WITH ORDINALITY u(name, n) ORDER BY n"
            return try await connection.run(PostgresStatement(select, [.texts(names)])).rows.map { try $0.text(0) }
        }
        #expect(Array(settings.prefix(4)) == ["mine", "UTF8", "3s", "7s"])
    }
}
