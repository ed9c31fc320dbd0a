import Glibc
import TestSupport
import Testing

extension EndToEndTests {
    /// `livepush retention`, on a database with readers, scheduled and unfinished messages.
    @Suite
    struct RetentionTests {
        @Test("Days older than --days are dropped with their deliveries; the others, today and yesterday stay")
        func oldDaysAreDropped() throws {
            let database = try RetentionDatabase(days: [40, 31, 30, 2])
            let outcome = try database.retention()
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(
                outcome.output == """
                    dropped \(try database.date(40)): message_\(try database.digits(40)), delivery_\(try database.digits(40))
                    dropped \(try database.date(31)): message_\(try database.digits(31)), delivery_\(try database.digits(31))

                    """
            )
            #expect(
                try database.oldTables()
                    == [30, 2].flatMap { day in
                        ["message_\(try database.digits(day))", "delivery_\(try database.digits(day))"]
                    }
            )
            #expect(try database.sql("SELECT count(*) FROM message") == "2")

            let again = try database.retention("--days", "1")
            #expect(again.output.split(separator: "\n").count == 2)
            #expect(try database.oldTables().isEmpty)
            #expect(try database.sql("SELECT create_partitions(7)") == "0", "yesterday's and later ones are all there")
            let nothing = try database.retention("--days", "1")
            #expect(nothing.status == 0 && nothing.output.isEmpty)
        }

        @Test(
            "A day with a message that waits, is retried or is scheduled is kept and named, the others go",
            arguments: [
                "NULL, NULL, now(), 'x'", "'alice', NULL, now(), NULL", "'alice', 5, now(), NULL",
                "NULL, NULL, now() + interval '3 days', 'x'", "NULL, NULL, 'infinity', 'x'",
            ]
        )
        func unfinishedWorkIsKept(row: String) throws {
            let database = try RetentionDatabase(days: [33, 32])
            try database.sql(
                """
                INSERT INTO pending (message_id, accepted_at, sdk_app_id, deadline, account, instance_id, due, content)
                SELECT id, accepted_at, 1, now() + interval '1 day', \(row) FROM message_\(database.digits(33))
                """
            )
            let outcome = try database.retention()
            #expect(outcome.status == 0)
            #expect(outcome.output.contains("kept \(try database.date(33)): 1 message is not finished\n"))
            #expect(outcome.output.contains("dropped \(try database.date(32))"))
            #expect(try database.oldTables().count == 2)

            try database.sql("DELETE FROM pending")
            #expect(try database.retention().output.contains("dropped \(try database.date(33))"))
            #expect(try database.oldTables().isEmpty)
        }

        @Test("A reader of one old day holds up that day only, for the lock time-out, and no writer")
        func readerOfOneDay() throws {
            let database = try RetentionDatabase(days: [33, 32])
            let reader = try database.session("BEGIN; SELECT count(*) FROM delivery_\(database.digits(33));")
            try Self.expectWritersGoOn(database) {
                let outcome = try Self.ended(try database.startRetention("--lock-timeout", "1"))
                #expect(outcome.status == 1)
                #expect(outcome.output.contains("postponed \(try database.date(33)): process "))
                #expect(outcome.output.contains("dropped \(try database.date(32))"))
                #expect(outcome.errors.contains("1 day postponed"))
            }
            #expect(try database.oldTables().count == 2)
            #expect(try database.sql("SELECT count(*) FROM pg_inherits WHERE inhdetachpending") == "0")
            reader.end(SIGTERM)
            #expect(try database.retention().status == 0)
            #expect(try database.oldTables().isEmpty)
        }

        @Test("A reader of all messages holds up every day, once for the lock time-out, and no writer")
        func readerOfTheParent() throws {
            let database = try RetentionDatabase(days: [36, 35, 34, 33, 32])
            let reader = try database.session("BEGIN; SELECT count(*) FROM message;")
            let begin = ContinuousClock.now
            try Self.expectWritersGoOn(database) {
                let outcome = try Self.ended(try database.startRetention("--lock-timeout", "2"))
                #expect(outcome.status == 1)
                #expect(outcome.output.split(separator: "\n").allSatisfy { $0.hasPrefix("postponed ") })
                #expect(outcome.errors.contains("5 days postponed"))
            }
            // Five times the time-out would be 10 s.
            #expect(ContinuousClock.now - begin < .seconds(9))
            #expect(try database.oldTables().count == 10)
            reader.end(SIGTERM)
            #expect(try database.retention().status == 0)
            #expect(try database.oldTables().isEmpty)
        }

        @Test(
            "A detach that was interrupted is finished by the next run; until then its parent can detach no other day"
        )
        func interruptedDetachIsFinished() throws {
            let database = try RetentionDatabase(days: [34, 33, 32])
            let table = "message_\(try database.digits(33))"
            let reader = try database.session("BEGIN; SELECT count(*) FROM \(table);")
            #expect(throws: ChildProcess.Failure.self) {
                try database.sql(
                    """
                    SET lock_timeout = '300ms';
                    ALTER TABLE message DETACH PARTITION \(table) CONCURRENTLY;
                    """
                )
            }
            let pending = "SELECT inhrelid::regclass FROM pg_inherits WHERE inhdetachpending"
            #expect(try database.sql(pending) == table)

            try Self.expectWritersGoOn(database) {
                let outcome = try Self.ended(try database.startRetention("--lock-timeout", "0.5"))
                #expect(outcome.status == 1)
                #expect(
                    outcome.output.split(separator: "\n").allSatisfy {
                        $0.hasSuffix("\(table) could not be detached in time")
                    }
                )
            }
            #expect(try database.oldTables().count == 6)
            reader.end(SIGTERM)
            let outcome = try database.retention()
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
            #expect(outcome.output.split(separator: "\n").count == 3)
            #expect(try database.oldTables().isEmpty)
        }

        @Test("A table that was detached and not dropped is dropped with its day; one that only has such a name is not")
        func leftTablesAreFound() throws {
            let database = try RetentionDatabase(days: [34, 33])
            let first = try database.digits(34)
            let second = try database.digits(33)
            try database.sql(
                """
                ALTER TABLE delivery DETACH PARTITION delivery_\(first);
                ALTER TABLE delivery DETACH PARTITION delivery_\(second);
                ALTER TABLE message DETACH PARTITION message_\(second);
                CREATE TABLE message_20200101 (id bigint, note text);
                CREATE TABLE delivery_20200102 (LIKE delivery);
                """
            )
            let outcome = try database.retention()
            #expect(outcome.status == 0)
            #expect(
                outcome.output == """
                    dropped 2020-01-02: delivery_20200102
                    dropped \(try database.date(34)): message_\(first), delivery_\(first)
                    dropped \(try database.date(33)): message_\(second), delivery_\(second)

                    """
            )
            #expect(try database.oldTables() == ["message_20200101"])
        }

        @Test("A dry run says what would be done and changes nothing")
        func dryRun() throws {
            let database = try RetentionDatabase(days: [33])
            try database.sql(Self.oldRows)
            let outcome = try database.retention("--dry-run")
            #expect(outcome.status == 0)
            #expect(outcome.output.contains("would drop \(try database.date(33)): message_"))
            #expect(outcome.output.contains("would delete 1 row of registration_transfer\n"))
            #expect(try database.oldTables().count == 2)
            #expect(try database.sql("SELECT count(*) FROM registration_transfer") == "3")
        }

        @Test("Old transfers and activities go after --days, clears after 24 hours, alarms once they are over")
        func rowsAreAged() throws {
            let database = try RetentionDatabase(days: [])
            try database.sql(Self.oldRows)
            let outcome = try database.retention("--days", "10")
            #expect(
                outcome.output == """
                    deleted 2 rows of registration_transfer
                    deleted 1 row of registration_clear
                    deleted 1 row of live_activity
                    deleted 1 row of alarm

                    """
            )
            #expect(try database.sql("SELECT la_id FROM live_activity ORDER BY la_id") == "kept on\nnew")
            #expect(try database.sql("SELECT installation FROM registration_transfer") == "new")
            #expect(try database.sql("SELECT installation FROM registration_clear") == "new")
            #expect(try database.sql("SELECT subject FROM alarm ORDER BY subject") == "ended lately\nstill there")
        }

        @Test("C44: a registration whose token is quarantined goes after 7 days, whatever --days says")
        func quarantinedTokensGo() throws {
            let database = try RetentionDatabase(days: [])
            try database.sql(
                """
                INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (1, '', '{a}');
                INSERT INTO device (sdk_app_id, account, installation, token, business_id, bad_days, quarantined_at)
                SELECT 1, 'alice', name, name::bytea, 1, 3, now() - age
                FROM (VALUES ('live', NULL), ('lately', interval '6 days 23 hours'), ('long ago', interval '7 days 1 hour'))
                    AS row (name, age);
                INSERT INTO live_activity (sdk_app_id, account, la_id, installation, token, business_id, started_at, bad_days,
                    quarantined_at)
                SELECT 1, account, 'order-1', installation, token, 1, now(), bad_days, quarantined_at FROM device;
                """
            )
            let outcome = try database.retention()
            #expect(outcome.output == "deleted 1 row of device\ndeleted 1 row of live_activity\n")
            for table in ["device", "live_activity"] {
                #expect(try database.sql("SELECT installation FROM \(table) ORDER BY 1") == "lately\nlive")
            }
        }

        @Test("A second run beside the first says so and exits 1")
        func oneRunAtATime() throws {
            let database = try RetentionDatabase(days: [34, 33])
            let reader = try database.session("BEGIN; SELECT count(*) FROM message;")
            let first = try database.startRetention("--lock-timeout", "60")
            let isRunning = try eventually(within: 10) {
                try database.sql(
                    """
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """
                ) == "1"
            }
            #expect(isRunning)
            let second = try database.retention()
            #expect(second.status == 1)
            #expect(second.errors.contains("another `livepush retention` is under way"))
            reader.end(SIGTERM)
            #expect(try Self.ended(first).status == 0)
            #expect(try database.oldTables().isEmpty)
        }

        // MARK: -

        private static let oldRows = """
            INSERT INTO app (sdk_app_id, secret_key_sealed, administrators) VALUES (1, '', '{a}');
            INSERT INTO registration_transfer
                (sdk_app_id, transferred_at, installation, from_account, to_account, reason, devices, activities)
            SELECT 1, now() - age * interval '1 day', name, 'a', 'b', 'token', 1, 0
            FROM (VALUES (11, 'old'), (31, 'older'), (9, 'new')) AS row (age, name);
            INSERT INTO registration_clear (sdk_app_id, installation, kind, sequence, cleared_at)
            VALUES (1, 'old', 'device', 1, now() - interval '25 hours'), (1, 'new', 'device', 1, now());
            INSERT INTO live_activity
                (sdk_app_id, account, la_id, installation, token, business_id, started_at, registered_at)
            SELECT 1, 'a', name, 'i', sha256(name::bytea), 1, now() - started * interval '1 day',
                now() - registered * interval '1 day'
            FROM (VALUES (11, 11, 'old'), (11, 9, 'kept on'), (9, 9, 'new')) AS row (started, registered, name);
            CREATE TABLE IF NOT EXISTS alarm (
                kind text, subject text, detail text, last_seen timestamptz, fades_at timestamptz, ended_at timestamptz);
            INSERT INTO alarm (kind, subject, detail, last_seen, ended_at)
            VALUES ('k', 'ended long ago', '', now() - interval '12 days', now() - interval '11 days'),
                ('k', 'ended lately', '', now() - interval '12 days', now() - interval '1 day'),
                ('k', 'still there', '', now() - interval '12 days', NULL);
            """

        private static func ended(_ program: RunningProgram) throws -> (status: Int32?, output: String, errors: String)
        {
            let hasEnded = eventually(within: 30) { program.status != nil }
            #expect(hasEnded, "\(program.errors)")
            return (program.status, program.output, program.errors)
        }

        /// Runs `body` while messages are written to today's partitions; none of them waits for a lock.
        private static func expectWritersGoOn(_ database: RetentionDatabase, _ body: () throws -> Void) throws {
            let script = """
                SET lock_timeout = '100ms';
                SELECT format($$\(RetentionDatabase.message("now()"))$$) FROM generate_series(1, 100000) \\gexec
                """
            let writer = try RunningProgram("psql", ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", database.url])
            try writer.write(script + "\n")
            let count = "SELECT count(*) FROM message WHERE accepted_at > now() - interval '1 hour'"
            let hasBegun = try eventually(within: 10) { try database.sql(count) != "0" }
            #expect(hasBegun, "\(writer.errors)")
            let before = try database.sql(count)
            try body()
            #expect(writer.status == nil && writer.errors.isEmpty, "\(writer.errors)")
            #expect(Int(try database.sql(count)) ?? 0 > Int(before) ?? 0)
            writer.end(SIGKILL)
        }
    }
}
