import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// `livepush master-key rotate`.
    @Suite
    struct MasterKeyTests {
        private static func newKey() throws -> String {
            try ChildProcess.run("openssl", ["rand", "-base64", "32"]).output.trimmed
        }

        /// Every sealed secret, to see whether one changed.
        private static let secrets = """
            SELECT md5(string_agg(secret_key_sealed::text, ',' ORDER BY sdk_app_id)) FROM app
            UNION ALL SELECT md5(string_agg(private_key_sealed::text, ',' ORDER BY business_id)) FROM certificate
            UNION ALL SELECT md5(string_agg(token_sealed::text, ',' ORDER BY key_id)) FROM provider_token
            """

        @Test("A gateway sends before, during and after a rotation, in the order that the help describes")
        func rotationWithoutInterruption() throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                var step = 0
                func sends(through server: GatewayServer) throws {
                    step += 1
                    try gateway.send(through: server) { $0.contentState = #"{"step":\#(step)}"# }
                    let push = try #require(try gateway.peer.exactly(step).last)
                    #expect(push.token == phone.activityToken)
                    #expect(push.contentState == #"{"step":\#(step)}"#)
                }
                let former = try #require(gateway.environment["LIVEPUSH_MASTER_KEY"])
                let new = try Self.newKey()
                let before = try gateway.serve()
                try sends(through: before)

                gateway.environment["LIVEPUSH_MASTER_KEY"] = new
                gateway.environment["LIVEPUSH_PREVIOUS_MASTER_KEY"] = former
                let during = try gateway.serve()
                try sends(through: during)

                gateway.environment["LIVEPUSH_MASTER_KEY"] = former
                gateway.environment["LIVEPUSH_PREVIOUS_MASTER_KEY"] = nil
                gateway.environment["LIVEPUSH_NEW_MASTER_KEY"] = new
                let first = try gateway.succeed("master-key", "rotate")
                // The app, two certificates, and the provider token that both gateways send with.
                #expect(first == "Sealed under the new key: 4. Found under it already: 0.\n")
                try sends(through: before)
                try sends(through: during)
                let sealed = try gateway.sql(Self.secrets)
                let second = try gateway.succeed("master-key", "rotate")
                #expect(second == "Sealed under the new key: 0. Found under it already: 4.\n")
                #expect(try gateway.sql(Self.secrets) == sealed)

                gateway.environment["LIVEPUSH_MASTER_KEY"] = new
                gateway.environment["LIVEPUSH_NEW_MASTER_KEY"] = nil
                let after = try gateway.serve()
                try sends(through: after)
                // A changed row is opened again, by the gateway of both keys too.
                try gateway.succeed("app", "set", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)", "--name", "shop")
                #expect(try gateway.succeed("usersig", "--sdk-app-id", "1400000000", "--identifier", "bob").count > 50)
                try sends(through: during)
                for server in [during, after] {
                    #expect(!server.log.contains("not readable"), "\(server.log)")
                }
                #expect(Set(try gateway.peer.pushes().compactMap { $0["authorization"] }).count == 1)
                #expect(!([first, second, before.log, during.log, after.log].joined().contains(new)))
            }
        }

        @Test("A secret that opens under neither key stops the rotation by its name, and nothing is changed")
        func unreadableSecretStopsIt() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.sql(
                """
                UPDATE certificate SET private_key_sealed = other.secret_key_sealed FROM app AS other
                WHERE business_id = 2
                """
            )
            let sealed = try gateway.sql(Self.secrets)
            gateway.environment["LIVEPUSH_NEW_MASTER_KEY"] = try Self.newKey()
            let outcome = try gateway.livepush(["master-key", "rotate"])
            #expect(outcome.status == 1)
            #expect(
                outcome.errors == """
                    livepush master-key rotate: the private key of certificate 2 of app 1400000000 opens under neither \
                    key; nothing was changed

                    """
            )
            #expect(try gateway.sql(Self.secrets) == sealed)
        }

        @Test("A certificate that is being added while it begins is waited for and sealed anew too")
        func waitsForOtherCommands() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.sql("CREATE TABLE spare AS TABLE certificate; DELETE FROM certificate WHERE business_id = 2")
            let other = try RunningProgram("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", gateway.database])
            try other.write("BEGIN; INSERT INTO certificate SELECT * FROM spare WHERE business_id = 2;\n")
            try gateway.expectSQL(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE state = 'idle in transaction' AND datname = current_database()
                """,
                "1"
            )

            gateway.environment["LIVEPUSH_NEW_MASTER_KEY"] = try Self.newKey()
            let rotation = try RunningProgram(
                Paths.livepush,
                ["master-key", "rotate"],
                environment: gateway.environment,
            )
            try gateway.expectSQL(
                """
                SELECT count(*) FROM pg_locks
                WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """,
                "1"
            )
            #expect(rotation.status == nil)
            try other.write("COMMIT;\n")
            let hasEnded = eventually(within: 15) { rotation.status != nil }
            #expect(hasEnded)
            #expect(rotation.output == "Sealed under the new key: 3. Found under it already: 0.\n")
            other.end(SIGTERM)
        }

        @Test("Both keys must be there, be keys and differ", arguments: [nil, "", "short", "the same"])
        func keysAreChecked(new: String?) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let former = gateway.environment["LIVEPUSH_MASTER_KEY"]
            gateway.environment["LIVEPUSH_NEW_MASTER_KEY"] = new == "the same" ? former : new
            let outcome = try gateway.livepush(["master-key", "rotate"])
            #expect(outcome.status == (new == "short" ? 1 : 64))
            #expect(outcome.errors.contains("LIVEPUSH_NEW_MASTER_KEY"), "\(outcome.errors)")
        }
    }
}
