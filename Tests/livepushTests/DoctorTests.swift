import Glibc
import TestSupport
import Testing

extension EndToEndTests {
    /// `livepush doctor`: each state that is wrong, and one that is not.
    @Suite
    struct DoctorTests {
        /// The three hosts of both environments.
        private static func hosts(sandbox: String, production: String) -> [String] {
            ["apns", "apns-broadcast", "apns-manage-broadcast"].flatMap {
                ["--\($0)-sandbox", sandbox, "--\($0)-production", production]
            }
        }

        /// - Parameter more: options that replace those by which everything is reachable.
        private static func doctor(
            _ gateway: GatewayUnderTest,
            trustsPeer: Bool = true,
            _ more: [String: String] = [:],
        ) throws -> ChildProcess.Outcome {
            var words = hosts(
                sandbox: "https://localhost:\(gateway.peer.sandboxPort)",
                production: "https://localhost:\(gateway.peer.productionPort)",
            )
            for (option, value) in more {
                words[try #require(words.firstIndex(of: option)) + 1] = value
            }
            return try gateway.livepush(
                ["doctor"] + words + (trustsPeer ? ["--apns-ca-file", gateway.peer.authority] : [])
            )
        }

        /// The lines that begin with a word.
        private static func lines(_ word: String, _ outcome: ChildProcess.Outcome) -> [String] {
            outcome.output.split(separator: "\n").filter { $0.hasPrefix(word + " ") }.map(String.init)
        }

        @Test("A gateway in order: every check is ok, and the exit code 0")
        func everythingIsInOrder() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send()
                _ = try gateway.peer.exactly(1)
                let outcome = try Self.doctor(gateway)
                #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
                #expect(Self.lines("FAIL", outcome).isEmpty && Self.lines("warn", outcome).isEmpty, "\(outcome.output)")
                for part in [
                    "database: PostgreSQL", "clock: this machine is", "schema: version", "login: ",
                    "roles: livepush_gateway", "partitions: ", "master key: opens all 4 secrets",
                    "certificate 1 of app 1400000000: APNs key ABCDE12345", "gateways: running: ", "alarms: none",
                    "APNs sandbox: reachable", "APNs sandbox, pushes to channels: reachable",
                    "APNs sandbox, management of channels: reachable",
                ] {
                    #expect(outcome.output.contains("ok    " + part), "\(part): \(outcome.output)")
                }
                #expect(!outcome.output.contains("APNs production"))
                let pem = try ChildProcess.run("cat", ["\(gateway.folder)/AuthKey_ABCDE12345.p8"]).output
                for secret in [GatewayUnderTest.secretKey, gateway.environment["LIVEPUSH_MASTER_KEY"], "eyJ"] {
                    #expect(!outcome.output.contains(try #require(secret)))
                }
                #expect(!pem.split(separator: "\n").contains { outcome.output.contains($0) })
            }
        }

        @Test("The machine of a gateway must reach PostgreSQL and APNs, and trust its certificate")
        func outOfReach() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let mistrusting = try Self.doctor(gateway, trustsPeer: false)
            #expect(mistrusting.status == 1)
            #expect(
                Self.lines("FAIL", mistrusting).map { $0.contains("APNs sandbox") && $0.contains("issuer certificate") }
                    == [true],
                "\(mistrusting.output)"
            )
            #expect(Self.lines("warn", mistrusting).contains { $0.contains("gateways: none is running") })

            let nobody = try PrivatePostgres.freePort()
            let nowhere = "https://127.0.0.1:\(nobody)"
            let unreachable = try Self.doctor(gateway, ["--apns-sandbox": nowhere])
            #expect(Self.lines("FAIL", unreachable).contains { $0.contains("APNs sandbox: 127.0.0.1:\(nobody)") })

            gateway.environment["LIVEPUSH_DATABASE_URL"] = "postgresql://nobody@127.0.0.1:\(nobody)/none"
            gateway.environment["LIVEPUSH_MASTER_KEY"] = nil
            let away = try gateway.livepush(["doctor"] + Self.hosts(sandbox: nowhere, production: nowhere))
            let failures = Self.lines("FAIL", away)
            #expect(away.status == 1)
            #expect(failures.contains { $0.hasPrefix("FAIL  database: ") }, "\(away.output)")
            #expect(failures.contains { $0.contains("LIVEPUSH_MASTER_KEY is needed") }, "\(away.output)")
            #expect(away.errors.contains("4 failed"), "\(away.errors)")
        }

        @Test(
            "A host for channels that is out of reach is named; it is a failure where channels are used",
            arguments: [
                ("--apns-broadcast-sandbox", "APNs sandbox, pushes to channels"),
                ("--apns-manage-broadcast-sandbox", "APNs sandbox, management of channels"),
            ],
            [
                "", "INSERT INTO channel (sdk_app_id, bundle_id, environment, channel_id, storage) VALUES",
                "INSERT INTO channel_request (sdk_app_id, business_id, bundle_id, environment, requested_by, operation) VALUES",
            ],
        )
        func channelHosts(host: (option: String, subject: String), use: String) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let row =
                use.contains("channel_request")
                ? "1, 'com.ex.app', '%', 'a', 'list'" : "'com.ex.app', '%', 'AAAA', 'none'"
            func insert(_ environment: String) throws {
                guard !use.isEmpty else { return }
                try gateway.sql("\(use) (1400000000, \(row.replacing("%", with: environment)))")
            }
            let nobody = try PrivatePostgres.freePort()
            let line = "\(host.subject): 127.0.0.1:\(nobody)"
            // The other environment's channels are not in need of this host.
            try insert("production")
            let unused = try Self.doctor(gateway, [host.option: "https://127.0.0.1:\(nobody)"])
            #expect(unused.status == 0, "\(unused.output)")
            let warning = try #require(
                Self.lines("warn", unused).first { $0.hasPrefix("warn  \(line)") },
                "\(unused.output)"
            )
            #expect(warning.hasSuffix("needed once there are broadcast channels"))
            #expect(Self.lines("ok", unused).count { $0.contains("APNs sandbox") } == 2, "\(unused.output)")

            guard !use.isEmpty else { return }
            try insert("sandbox")
            let used = try Self.doctor(gateway, [host.option: "https://127.0.0.1:\(nobody)"])
            #expect(used.status == 1)
            #expect(Self.lines("FAIL", used).map { $0.hasPrefix("FAIL  \(line)") } == [true], "\(used.output)")
            #expect(used.errors.contains("1 failed"))
        }

        @Test(
            "What is wrong in the database is named, with what to do",
            arguments: [
                (
                    "DELETE FROM schema_migration WHERE version = 10",
                    "FAIL  schema: 0010_provider_tokens.sql not applied: run livepush migrate"
                ),
                ("INSERT INTO schema_migration VALUES (99, 'later.sql')", "warn  schema: version 99"),
                (
                    "DO $$ BEGIN EXECUTE format('DROP TABLE delivery_%s', to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD')); END $$",
                    "FAIL  partitions: delivery_"
                ),
                (
                    "UPDATE certificate SET private_key_sealed = secret_key_sealed FROM app WHERE business_id = 2",
                    "FAIL  master key: does not open the private key of certificate 2 of app 1400000000"
                ),
                (
                    "UPDATE certificate SET bundle_id = 'my app' WHERE business_id = 2",
                    "FAIL  certificate 2 of app 1400000000: 'my app' is no bundle id"
                ),
                ("UPDATE certificate SET key_id = 'short' WHERE business_id = 2", "FAIL  certificate 2 of app"),
                ("DELETE FROM certificate", "warn  certificates: there is none"),
                (
                    "INSERT INTO alarm (kind, subject, detail) VALUES ('apns_unreachable', 'sandbox', 'no way')",
                    "warn  alarm apns_unreachable: no way"
                ),
                (
                    "INSERT INTO instance (host, heartbeat_at) VALUES ('ghost/1', now() - interval '5 minutes')",
                    "warn  gateways: ghost/1 (silent for 30"
                ),
                (
                    "REVOKE INSERT ON message FROM livepush_gateway",
                    "FAIL  roles: livepush_gateway lacks INSERT on message"
                ),
                (clock("5 s"), "warn  clock: this machine is 5"), (clock("90 s"), "FAIL  clock: this machine is 9"),
            ],
        )
        func databaseIsWrong(sql: String, line: String) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.sql(sql)
            let outcome = try Self.doctor(gateway)
            #expect(outcome.output.contains(line), "\(outcome.output)\(outcome.errors)")
            #expect(outcome.status == (line.hasPrefix("FAIL") ? 1 : 0))
        }

        /// Makes PostgreSQL's clock slow.
        private static func clock(_ interval: String) -> String {
            """
            CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql
                AS 'SELECT pg_catalog.clock_timestamp() - interval ''\(interval)''';
            DO $$ BEGIN
                EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog', current_database());
            END $$
            """
        }

        @Test("Another master key, and a login without rights")
        func wrongSurroundings() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let right = gateway.environment["LIVEPUSH_MASTER_KEY"]
            gateway.environment["LIVEPUSH_MASTER_KEY"] = try ChildProcess.run("openssl", ["rand", "-base64", "32"])
                .output
                .trimmed
            let locked = Self.lines("FAIL", try Self.doctor(gateway))
            #expect(
                locked.map {
                    $0.hasPrefix(
                        "FAIL  master key: opens none of the secret keys of apps (1) and none of the private keys of "
                            + "certificates (2): LIVEPUSH_MASTER_KEY is not the one that sealed them."
                    )
                } == [true],
                "\(locked)"
            )

            gateway.environment["LIVEPUSH_MASTER_KEY"] = right
            let server = try PrivatePostgres.shared()
            try server.makeLogin("stranger_login", memberOf: nil)
            gateway.environment["LIVEPUSH_DATABASE_URL"] = server.url(gateway.database, as: "stranger_login")
            let stranger = try Self.doctor(gateway)
            #expect(stranger.status == 1)
            #expect(
                Self.lines("FAIL", stranger).contains { $0.contains("login: stranger_login may not ") },
                "\(stranger.output)"
            )
        }
    }
}
