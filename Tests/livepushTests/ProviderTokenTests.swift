import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// One provider token for the whole fleet.
    @Suite
    struct ProviderTokenTests {
        private func authorizations(_ gateway: GatewayUnderTest) throws -> Set<String> {
            Set(try gateway.peer.pushes().compactMap { $0["authorization"] })
        }

        @Test("C1, C2: two gateways, a third one later, and the command send with one token, whatever dies meanwhile")
        func oneTokenForAll() throws {
            try GatewayUnderTest.run(flags: ["--lanes", "2"]) { gateway in
                let first = try gateway.serve(["--lanes", "2"])
                let second = try gateway.serve(["--lanes", "2"])
                try gateway.register()
                for step in 1...20 {
                    try gateway.send(through: step % 2 == 0 ? first : second) {
                        $0.contentState = #"{"step":\#(step)}"#
                        $0.laID = nil
                    }
                }
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'accepted_by_apns'", "20")
                #expect(try authorizations(gateway).count == 1)

                try gateway.sql(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'gateway_login'"
                )
                try gateway.crash()
                let third = try gateway.serve()
                try gateway.send(through: third) { $0.laID = nil }
                let isSentAgain = eventually {
                    (try? gateway.post(TestMessage { $0.laID = nil }, through: first)["ActionStatus"]?.string) == "OK"
                }
                #expect(isSentAgain)
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'accepted_by_apns'", "22")
                #expect(try authorizations(gateway).count == 1)
                #expect(try gateway.sql("SELECT key_id, environment FROM provider_token") == "ABCDE12345|sandbox")

                let app = String(GatewayUnderTest.sdkAppID)
                let printed = try gateway.succeed("certificate", "token", "--sdk-app-id", app, "--business-id", "1")
                #expect(try authorizations(gateway) == ["bearer \(printed.trimmed)"])
                #expect(!third.log.contains("eyJ") && !first.log.contains("eyJ"))
            }
        }

        @Test("C6: after 51 minutes all change to one new token")
        func renewal() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send { $0.laID = nil }
                _ = try gateway.peer.exactly(1)
                try gateway.sql("UPDATE provider_token SET issued_at = issued_at - interval '51 minutes'")
                sleep(1)
                let (first, second) = (try gateway.serve(), try gateway.serve())
                for number in 1...4 {
                    try gateway.send(through: number % 2 == 0 ? first : second) { $0.laID = nil }
                }
                _ = try gateway.peer.exactly(5)
                #expect(try authorizations(gateway).count == 2)
                #expect(try gateway.sql("SELECT count(*) FROM provider_token") == "1")
            }
        }

        @Test("C4: a token that reaches --provider-token-age gives way to one other, and requests go on meanwhile")
        func replacedWhenOldEnough() throws {
            let flags = ["--provider-token-age", "2", "--provider-token-pause", "1"]
            try GatewayUnderTest.run(flags: flags) { gateway in
                try gateway.register()
                var sent = 0
                let isReplaced = try eventually {
                    sent += 1
                    try gateway.send {
                        $0.contentState = #"{"step":\#(sent)}"#
                        $0.laID = nil
                    }
                    return try authorizations(gateway).count == 2
                }
                #expect(isReplaced)
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'accepted_by_apns'", "\(sent)")
                #expect(try gateway.sql("SELECT count(*) FROM provider_token") == "1")
            }
        }

        @Test("C11, C15: a refused key costs two requests for ten messages on two lanes, and its queue waits")
        func refusedKey() throws {
            try GatewayUnderTest.run(flags: ["--lanes", "2", "--heartbeat-interval", "0.2"]) { gateway in
                try gateway.register()
                try gateway.peer.answer("*", .status(403, "InvalidProviderToken", times: 0))
                for _ in 0..<10 {
                    try gateway.send { $0.laID = nil }
                }
                try gateway.expectSQL(
                    "SELECT count(*) FROM undelivered WHERE reason_code = 'InvalidProviderToken'",
                    "10"
                )
                #expect(try gateway.peer.pushes().count <= 2)
                try gateway.expectSQL("SELECT kind, key_id FROM alarms", "signing_key_refused|ABCDE12345")
                #expect(try gateway.sql("SELECT count(*) FROM device") == "1")
            }
        }
    }
}
