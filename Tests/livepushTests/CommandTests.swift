import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// The command line: exit codes, errors, the schema.
    @Suite
    struct CommandTests {
        /// Without an environment, which is asked for once the bundle id is in order.
        private static func certificate(of bundleID: String) -> [String] {
            ["certificate", "add", "--sdk-app-id", "1", "--business-id", "1", "--bundle-id", bundleID]
        }

        @Test(
            "Usage errors exit 64 and name what is wrong on stderr",
            arguments: [
                ([], "usage"), (["no-such-command"], "no-such-command"),
                (["serve", "--no-such-flag"], "--no-such-flag"),
                (["serve", "--lanes", "none"], "--lanes"),
                (["serve", "--provider-token-age", "3301"], "--provider-token-age"),
                (["serve", "--provider-token-age", "60", "--provider-token-pause", "61"], "--provider-token-pause"),
                (["serve", "--database-url", "x", "--token-guard-failures", "1"], "--token-guard-failures"),
                (["app", "add"], "--sdk-app-id"),
                (["app", "set", "--sdk-app-id", "1", "--database-url", "x"], "--live-activity-alert"),
                (
                    ["app", "set", "--sdk-app-id", "1", "--database-url", "x"],
                    "nothing to change; give at least one of"
                ),
                (["certificate", "add", "--sdk-app-id", "1"], "--business-id"),
                (certificate(of: "com.ex.app.push-type.liveactivity"), "give the bare bundle id: com.ex.app\n"),
                // It may be called so.
                (certificate(of: "com.ex.voip"), "--environment"),
                (["usersig", "--sdk-app-id", "1"], "--identifier"),
                (["retention", "--database-url", "x", "--days", "0"], "--days"),
                (["retention", "--database-url", "x", "--lock-timeout", "0"], "--lock-timeout"),
                (["registrations", "import", "--database-url", "x", "--sdk-app-id", "1"], "file is needed"),
                (["registrations", "import", "a", "b", "--sdk-app-id", "1"], "'b'"),
                (["registrations", "import", "-", "--database-url", "x", "--sdk-app-id", "1"], "--report"),
                (["master-key", "rotate", "--database-url", "x"], "livepush_master_key"),
            ] as [([String], String)],
        )
        func usageErrorsExit64(arguments: [String], name: String) throws {
            let outcome = try ChildProcess.run(Paths.livepush, arguments)
            #expect(outcome.status == 64)
            #expect(outcome.errors.lowercased().contains(name), "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
        }

        @Test(
            "Each command explains itself and exits 0",
            arguments: [
                [], ["serve"], ["migrate"], ["doctor"], ["retention"], ["app"], ["app", "add"],
                ["app", "code", "add"], ["app", "code", "list"], ["app", "code", "remove"], ["app", "token", "add"],
                ["app", "token", "list"], ["app", "token", "remove"], ["certificate"],
                ["certificate", "add"],
                ["certificate", "token"], ["usersig"], ["master-key"], ["master-key", "rotate"], ["registrations"],
                ["registrations", "import"], ["scheduled"], ["scheduled", "list"], ["scheduled", "show"],
                ["scheduled", "cancel"], ["schema"], ["schema", "import"], ["schema", "diff"], ["send"], ["explain"],
                ["simulator"], ["payload"], ["payload", "start"], ["payload", "update"], ["payload", "end"],
                ["payload", "date"],
            ],
        )
        func helpExitsZero(command: [String]) throws {
            let outcome = try ChildProcess.run(Paths.livepush, command + ["--help"])
            #expect(outcome.status == 0)
            #expect(outcome.output.contains(command.last ?? "livepush"))
            #expect(outcome.errors.isEmpty)
        }

        @Test("A taken port is an error: the second serve exits 1, the first goes on")
        func takenPortIsAnError() throws {
            try GatewayUnderTest.run { gateway in
                let first = try gateway.serve()
                let second = try gateway.livepush(["serve", "--lanes", "1", "--listen", "127.0.0.1:\(first.port)"])
                #expect(second.status == 1)
                #expect(second.errors.contains(String(first.port)), "\(second.errors)")
                #expect(try HTTPExchange("GET", port: first.port, "/healthz").answer().status == 200)
            }
        }

        @Test("migrate is safe twice and from several processes at once, and serve refuses a database without it")
        func migrateIsSafe() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.succeed("migrate")
            #expect(!(try gateway.succeed("migrate", "--status")).isEmpty)
            #expect(try gateway.succeed("migrate", "--print").contains("CREATE TABLE message"))

            let database = try PrivatePostgres.shared().makeDatabase()
            let refused = try gateway.livepush(["serve", "--lanes", "1", "--database-url", database])
            #expect(refused.status == 1)
            #expect(refused.errors.contains("livepush migrate"), "\(refused.errors)")

            let migrations = try (1...4).map { _ in
                try RunningProgram(Paths.livepush, ["migrate", "--database-url", database])
            }
            for migration in migrations {
                let hasEnded = eventually(within: 30) { migration.status != nil }
                #expect(hasEnded)
                #expect(migration.status == 0, "\(migration.errors)")
            }
        }

        @Test("migrate of an older release refuses a newer database and changes nothing; its serve goes on working")
        func olderReleaseLeavesANewerDatabase() throws {
            try GatewayUnderTest.run { gateway in
                // What a newer release may have brought: a file, a right, words for a reason.
                try gateway.sql(
                    """
                    INSERT INTO schema_migration VALUES (9999, '9999_later.sql');
                    CREATE TABLE later (id bigint);
                    GRANT SELECT ON later TO livepush_gateway, livepush_operator;
                    CREATE OR REPLACE FUNCTION plain_reason(reason text) RETURNS text LANGUAGE sql IMMUTABLE
                        AS $$ SELECT 'newer' $$;
                    """
                )
                let state = """
                    SELECT has_table_privilege('livepush_gateway', 'later', 'SELECT'), plain_reason('throttled'),
                        (SELECT md5(string_agg(version || name || applied_at, ',' ORDER BY version))
                        FROM schema_migration)
                    """
                let before = try gateway.sql(state)
                let refused = try gateway.livepush(["migrate"])
                #expect(refused.status == 1)
                #expect(refused.output.isEmpty, "\(refused.output)")
                #expect(
                    refused.errors.contains("9999_later.sql of a newer release")
                        && refused.errors.contains("nothing was changed"),
                    "\(refused.errors)"
                )
                #expect(try gateway.sql(state) == before)
                #expect(try gateway.succeed("migrate", "--status").contains("newer    9999_later.sql"))

                // Releases run side by side.
                try gateway.succeed("retention", "--dry-run")
                try gateway.succeed("retention")
                try gateway.serve()
                try gateway.register()
                try gateway.send()
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                #expect(try gateway.livepush(["doctor"]).output.contains("warn  schema: version 9999 is of a newer"))
            }
        }

        @Test("certificate token prints a provider token that APNs takes")
        func printedTokenIsValid() throws {
            try GatewayUnderTest.run { gateway in
                let sdkAppID = String(GatewayUnderTest.sdkAppID)
                let token = try gateway.succeed("certificate", "token", "--sdk-app-id", sdkAppID, "--business-id", "1")
                let device = TestPhone.token(bytes: 32)
                let answer = try ChildProcess.run(
                    "curl",
                    [
                        "--silent", "--show-error", "--http2", "--cacert", gateway.peer.authority,
                        "--header", "authorization: bearer \(token.trimmed)", "--header", "apns-push-type: alert",
                        "--header", "apns-topic: \(GatewayUnderTest.bundleID)", "--data", #"{"aps":{"alert":"hello"}}"#,
                        "--write-out", "%{http_code}",
                        "https://localhost:\(gateway.peer.sandboxPort)/3/device/\(device)",
                    ],
                )
                #expect(answer.output == "200", "\(answer.errors)")
            }
        }

        @Test("send posts a message through a running gateway")
        func sendPostsAMessage() throws {
            try GatewayUnderTest.run { gateway in
                let server = try gateway.serve()
                let phone = try gateway.register()
                let answer = try gateway.succeed(
                    "send",
                    "--sdk-app-id",
                    "\(GatewayUnderTest.sdkAppID)",
                    "--url",
                    "http://127.0.0.1:\(server.port)",
                    "--to",
                    "alice",
                    "--la-id",
                    "order-1",
                    "--content-state",
                    #"{"minutes":12.50}"#,
                )
                #expect(answer.contains("OK"))
                let push = try gateway.peer.exactly(1)[0]
                #expect(push.token == phone.activityToken)
                #expect(push.contentState == #"{"minutes":12.50}"#)
            }
        }

        @Test("A businessId that was added a moment ago works in a running gateway within 5 s")
        func configurationIsFollowed() throws {
            try GatewayUnderTest.run { gateway in
                let body = #"{"token":"\#(TestPhone.token(bytes: 32))","businessId":3}"#
                #expect(try gateway.phoneAnswer("alice", "PUT", "/v1/devices/phone-1", body).status == 422)
                try gateway.succeed(
                    "certificate",
                    "add",
                    "--sdk-app-id",
                    "\(GatewayUnderTest.sdkAppID)",
                    "--business-id",
                    "3",
                    "--bundle-id",
                    "com.ex.third",
                    "--team-id",
                    "TEAM123456",
                    "--key-id",
                    "ABCDE12345",
                    "--key-file",
                    "\(gateway.folder)/AuthKey_ABCDE12345.p8",
                    "--environment",
                    "sandbox",
                )
                let isKnown = try eventually(within: 8) {
                    try gateway.phoneAnswer("alice", "PUT", "/v1/devices/phone-1", body).status == 200
                }
                #expect(isKnown)
            }
        }
    }
}
