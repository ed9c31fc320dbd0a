import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// A PostgreSQL that does not answer, or takes no writes: what callers are told, and what becomes of their messages.
    @Suite
    struct DatabaseOutageTests {
        /// Holds statements that need a table, as a server that stands still would.
        private static func hold(_ table: String, of gateway: GatewayUnderTest) throws -> RunningProgram {
            let holder = try RunningProgram("psql", ["-X", "-q", gateway.database])
            try holder.write("BEGIN; LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE; SELECT 'held';\n")
            let isHeld = eventually { holder.output.contains("held") }
            #expect(isHeld, "\(holder.errors)")
            return holder
        }

        private static func seconds(_ body: () throws -> Void) rethrows -> Double {
            let start = ContinuousClock.now
            try body()
            return (ContinuousClock.now - start) / .seconds(1)
        }

        private static func readiness(_ server: GatewayServer) -> Int? {
            try? HTTPExchange("GET", port: server.port, "/readyz").answer().status
        }

        private static func isAway(_ answer: JSONValue) -> Bool { answer["ErrorCode"]?.integer == 20004 }

        @Test("A caller whose message is not stored in time is told to repeat it; it is pushed once all the same")
        func slowAcceptIsAnswered() throws {
            try GatewayUnderTest.run(flags: ["--database-answer-limit", "1.5"]) { gateway in
                let phone = try gateway.register()
                let holder = try Self.hold("message", of: gateway)
                let message = TestMessage()
                var answer: JSONValue?
                let waited = try Self.seconds { answer = try gateway.post(message) }
                #expect(try Self.isAway(#require(answer)), "\(answer?.text ?? "")")
                #expect((1.4..<3).contains(waited), "\(waited) s")
                // Who comes while that goes on does not wait at all, the same request included.
                for again in [message, TestMessage { $0.recipients = ["bob"] }] {
                    let waited = try Self.seconds { answer = try gateway.post(again) }
                    #expect(try Self.isAway(#require(answer)), "\(answer?.text ?? "")")
                    #expect(waited < 1, "\(waited) s")
                }

                holder.end(SIGKILL)
                #expect(try gateway.peer.exactly(1)[0].token == phone.activityToken)
                // The repeat is recognised, whether it comes before or after the push.
                let accepted = try gateway.post(message)
                #expect(accepted["ActionStatus"]?.string == "OK", "\(accepted.text)")
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.sql("SELECT msg_key FROM message") == accepted["MsgKey"]?.string)
                _ = try gateway.peer.exactly(1)
            }
        }

        @Test("Phones and lookups wait no longer for PostgreSQL than sendmsg does")
        func otherCallersAreAnswered() throws {
            try GatewayUnderTest.run(flags: ["--database-answer-limit", "1"]) { gateway in
                let phone = TestPhone(installation: "phone-1")
                _ = try (gateway.userSig("alice"), gateway.userSig("administrator"))
                let holder = try Self.hold("device, account", of: gateway)
                let body = #"{"token":"\#(phone.deviceToken)","businessId":1}"#
                let requests: [(String, String, String?)] = [
                    ("PUT", "/v1/devices/phone-1", body), ("GET", "/v1/registrations", nil),
                    ("DELETE", "/v1/devices/phone-1", nil),
                ]
                for (method, target, body) in requests {
                    var answer: HTTPExchange.Answer?
                    let waited = try Self.seconds { answer = try gateway.phoneAnswer("alice", method, target, body) }
                    #expect(answer?.status == 503, "\(method) \(target): \(answer?.text ?? "")")
                    #expect(answer?.header("Retry-After") != nil)
                    #expect((0.9..<2.5).contains(waited), "\(method) \(target): \(waited) s")
                }
                var lookup: HTTPExchange.Answer?
                let query =
                    "sdkappid=\(GatewayUnderTest.sdkAppID)&identifier=administrator"
                    + "&usersig=\(try gateway.userSig("administrator"))&random=1&contenttype=json"
                let waited = try Self.seconds {
                    lookup = try HTTPExchange(
                        "POST",
                        port: gateway.port,
                        "/v4/im_open_login_svc/account_check?\(query)",
                        body: #"{"CheckItem":[{"UserID":"alice"}]}"#
                    ).answer()
                }
                #expect(try Self.isAway(#require(lookup).json), "\(lookup?.text ?? "")")
                #expect((0.9..<2.5).contains(waited), "\(waited) s")
                holder.end(SIGKILL)
                try gateway.phone("alice", "PUT", "/v1/devices/phone-1", body)
            }
        }

        @Test("Without heartbeat: not ready within 3.5 s, and once nothing may be sent every caller is refused at once")
        func withoutHeartbeat() throws {
            try GatewayUnderTest.run(flags: ["--send-stop-after", "8"]) { gateway in
                let server = try gateway.server
                _ = try gateway.userSig("alice")
                _ = try gateway.userSig("administrator")
                let holder = try Self.hold("instance", of: gateway)
                let waited = Self.seconds {
                    _ = eventually(within: 10) { Self.readiness(server) == 503 }
                }
                #expect(waited < 4, "\(waited) s")
                // PostgreSQL answers everything else.
                try gateway.register("alice", device: TestPhone(installation: "phone-1"))
                let isStopped = eventually { server.log.contains("no heartbeat; sending stopped") }
                #expect(isStopped)
                let refused = try Self.seconds {
                    let answer = try gateway.post(TestMessage())
                    #expect(Self.isAway(answer), "\(answer.text)")
                    let phone = try gateway.phoneAnswer("alice", "GET", "/v1/registrations")
                    #expect(phone.status == 503, "\(phone.text)")
                }
                #expect(refused < 1, "\(refused) s")
                holder.end(SIGKILL)
                let isReady = eventually(within: 20) { Self.readiness(server) == 200 }
                #expect(isReady)
                try gateway.send()
            }
        }

        @Test("A PostgreSQL that goes: not ready within 3.5 s, and a handful of log lines, not one for each try")
        func goneDatabase() throws {
            try GatewayUnderTest.run { gateway in
                let server = try gateway.server
                try gateway.closeDatabase()
                let waited = Self.seconds {
                    _ = eventually(within: 10) { Self.readiness(server) == 503 }
                }
                #expect(waited < 4, "\(waited) s")
                sleep(9)
                let name = gateway.database.split(separator: "/").last ?? ""
                try gateway.postgres.psql("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
                let isReady = eventually(within: 20) { Self.readiness(server) == 200 }
                #expect(isReady)
                let isTold = eventually { server.log.contains("connected to PostgreSQL again") }
                #expect(isTold, "\(server.log)")
                let lines = server.log.split(separator: "\n")
                #expect(lines.count { $0.contains("cannot connect to PostgreSQL") } <= 3, "\(server.log)")
                #expect(lines.count { $0.contains("queue not read") } <= 3, "\(server.log)")
                #expect(lines.count < 35, "\(server.log)")
            }
        }

        @Test("A read-only PostgreSQL is named in plain words by serve, doctor, app add, migrate and retention")
        func readOnlyDatabase() throws {
            try GatewayUnderTest.run { gateway in
                let server = try gateway.server
                let name = gateway.database.split(separator: "/").last ?? ""
                try gateway.postgres.psql(
                    """
                    ALTER DATABASE \(name) SET default_transaction_read_only = on;
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '\(name)';
                    """
                )
                let isTold = eventually(within: 20) { server.log.contains("PostgreSQL refuses writes") }
                #expect(isTold, "\(server.log)")
                let doctor = try gateway.livepush(["doctor"])
                #expect(doctor.output.contains("FAIL  database: PostgreSQL"), "\(doctor.output)")
                #expect(doctor.output.contains("refuses writes: it is a standby"), "\(doctor.output)")
                for command in [
                    [
                        "app", "add", "--sdk-app-id", "7", "--admin", "a", "--secret-key-file",
                        "\(gateway.folder)/secret-key",
                    ],
                    ["migrate"], ["retention"],
                ] {
                    let outcome = try gateway.livepush(command)
                    #expect(outcome.status == 1, "\(command)")
                    #expect(outcome.errors.contains("PostgreSQL refuses writes"), "\(command): \(outcome.errors)")
                }

                try gateway.postgres.psql(
                    """
                    ALTER DATABASE \(name) RESET default_transaction_read_only;
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '\(name)';
                    """
                )
                let isOver = eventually(within: 20) { server.log.contains("PostgreSQL takes writes again") }
                #expect(isOver, "\(server.log)")
                let lines = server.log.split(separator: "\n")
                #expect(lines.count { $0.contains("PostgreSQL refuses writes") } <= 2, "\(server.log)")
            }
        }

        @Test(
            "Every command that needs the schema says on a database without it: run livepush migrate",
            arguments: [
                ["retention"], ["retention", "--dry-run"], ["app", "list"],
                ["usersig", "--sdk-app-id", "1", "--identifier", "alice"], ["scheduled", "list"],
                ["segment", "list", "--sdk-app-id", "1"], ["certificate", "list", "--sdk-app-id", "1"],
                ["schema", "list"],
                ["app", "code", "list"], ["app", "token", "list"],
                ["registrations", "import", "/etc/hostname", "--sdk-app-id", "1", "--report", "/tmp/livepush-none"],
                ["serve", "--lanes", "1", "--listen", "127.0.0.1:0"],
            ],
        )
        func withoutSchema(command: [String]) throws {
            let database = try PrivatePostgres.shared().makeDatabase()
            let masterKey = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
            let outcome = try ChildProcess.run(
                "env",
                ["LIVEPUSH_DATABASE_URL=\(database)", "LIVEPUSH_MASTER_KEY=\(masterKey)", Paths.livepush] + command,
            )
            #expect(outcome.status == 1)
            #expect(
                outcome.errors.contains("the database lacks 0001_tables.sql; run: livepush migrate"),
                "\(outcome.errors)"
            )
        }
    }
}
