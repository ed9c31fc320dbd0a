import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// Gateways whose LIVEPUSH_MASTER_KEY does not open what is stored.
    @Suite
    struct WrongMasterKeyTests {
        private static func newKey() throws -> String {
            try ChildProcess.run("openssl", ["rand", "-base64", "32"]).output.trimmed
        }

        private static let app = "\(GatewayUnderTest.sdkAppID)"

        /// How long one part of a test may take at most: well below the 30 s that a push without a key waits.
        private static let patience = Duration.seconds(9)

        private static func ready(_ server: GatewayServer) throws -> (status: Int, text: String) {
            let answer = try HTTPExchange("GET", port: server.port, "/readyz").answer()
            return (answer.status, answer.text)
        }

        /// A gateway whose app is sealed under a new key and whose certificates are under the former one.
        private static func run(
            _ test: (GatewayUnderTest, _ former: String, _ new: String) throws -> Void
        ) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let former = try #require(gateway.environment["LIVEPUSH_MASTER_KEY"])
            let new = try newKey()
            gateway.environment["LIVEPUSH_MASTER_KEY"] = new
            try gateway.setAdministrators("administrator")
            try test(gateway, former, new)
        }

        @Test("Beside a gateway that has both keys, one that lacks one puts nothing off that it accepts or finds due")
        func twoGateways() throws {
            try Self.run { gateway, former, _ in
                gateway.environment["LIVEPUSH_PREVIOUS_MASTER_KEY"] = former
                let whole = try gateway.serve()
                gateway.environment["LIVEPUSH_PREVIOUS_MASTER_KEY"] = nil
                let lacking = try gateway.serve(becomingReady: false)
                #expect(try Self.ready(whole).status == 200)
                #expect(
                    try Self.ready(lacking).text == """
                        {"status":"unavailable","reason":"LIVEPUSH_MASTER_KEY opens none of the keys of certificates (2) in \
                        this database: it is not the key that sealed them"}
                        """
                )
                // Phones may register with both: the certificate is there.
                let phone = try gateway.register()
                try gateway.register("bob", phone: "phone-2", laID: nil)

                // Accepted by either, and each tried twice.
                let clock = ContinuousClock()
                let time = try clock.measure {
                    for number in 1...6 {
                        try gateway.peer.answer(phone.activityToken, .status(503, "ServiceUnavailable"))
                        try gateway.send(through: number.isMultiple(of: 2) ? whole : lacking)
                        _ = try gateway.peer.exactly(2 * number)
                    }
                    try gateway.send(through: lacking) { $0.recipients = ["alice", "bob"] }
                    try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                }
                #expect(time < Self.patience, "\(time)")
                // One to everyone too.
                let query =
                    "sdkappid=\(Self.app)&identifier=administrator&usersig=\(try gateway.userSig("administrator"))"
                let toAll = try HTTPExchange(
                    "POST",
                    port: lacking.port,
                    "/v4/timpush/push?\(query)&random=1&contenttype=json",
                    body: #"{"From_Account":"administrator","MsgRandom":7,"OfflinePushInfo":{"Title":"a","Desc":"b"}}"#,
                ).answer()
                #expect(try toAll.json["ActionStatus"]?.string == "OK", "\(toAll.text)")
                try gateway.expectSQL("SELECT state, listed FROM fan_outs", "listed|2", within: 9)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(
                    try gateway.sql("SELECT outcome, count(*) FROM recent_deliveries GROUP BY 1")
                        == "accepted_by_apns|10"
                )

                // One of the certificates under the new key: the other's pushes are still nothing that it puts off.
                try gateway.addCertificate(
                    2,
                    key: "FGHIJ67890",
                    team: "TEAM654321",
                    bundleID: "com.ex.other",
                    "sandbox"
                )
                #expect(try lacking.isReady())
                let shared = try clock.measure {
                    for _ in 1...4 {
                        try gateway.send(through: lacking)
                        try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                    }
                }
                #expect(shared < Self.patience, "\(shared)")
                #expect(
                    try gateway.sql("SELECT outcome, count(*) FROM recent_deliveries GROUP BY 1")
                        == "accepted_by_apns|14"
                )
            }
        }

        @Test("What no gateway can send waits, says why, and goes out from one with the key, or ends at its deadline")
        func waitsForTheKey() throws {
            try Self.run { gateway, former, _ in
                let lacking = try gateway.serve(["--heartbeat-interval", "0.5"], becomingReady: false)
                try gateway.register()
                let clock = ContinuousClock.now
                let key = try gateway.send()
                let late = try gateway.send { $0.lifetime = 1 }
                try gateway.expectSQL(
                    """
                    SELECT msg_key = '\(late)', route, route_reason, outcome,
                        plain_reason(route_reason) LIKE '%LIVEPUSH_MASTER_KEY%'
                    FROM recent_deliveries
                    """,
                    "t|none|secret_not_readable|expired|t",
                )
                try gateway.expectSQL("SELECT outcome, reason_code FROM undelivered", "retrying|secret_not_readable")
                let waiting = try gateway.phone("administrator", "GET", "/v1/messages/\(key)").text
                #expect(waiting.contains("secret_not_readable"), "\(waiting)")
                #expect(
                    try gateway.sql("SELECT kind, sdk_app_id, what_to_do LIKE '%LIVEPUSH_MASTER_KEY%' FROM alarms")
                        == "secret_not_readable||t"
                )
                #expect(try gateway.sql("SELECT attempts, instance_id IS NULL FROM pending") == "0|t")

                gateway.environment["LIVEPUSH_PREVIOUS_MASTER_KEY"] = former
                lacking.program.end(SIGTERM)
                try gateway.serve()
                _ = try gateway.peer.exactly(1)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                #expect(ContinuousClock.now - clock < .seconds(28))
            }
        }

        @Test(
            "A gateway with a wholly wrong key is not ready, and its answers are errors to be tried again, with the cause"
        )
        func wrongKey() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let cause = "LIVEPUSH_MASTER_KEY is not the one that sealed it"
            let right = try #require(gateway.environment["LIVEPUSH_MASTER_KEY"])
            _ = try ["administrator", "alice"].map { try gateway.userSig($0) }
            try gateway.succeed(
                "app",
                "code",
                "add",
                "--sdk-app-id",
                Self.app,
                "--code",
                "A1B2C-3D4E5",
                "--business-id",
                "1"
            )
            let token = try gateway.succeed(
                "app",
                "token",
                "add",
                "--sdk-app-id",
                Self.app,
                "--name",
                "backend",
                "--scope",
                "server"
            ).trimmed

            gateway.environment["LIVEPUSH_MASTER_KEY"] = try Self.newKey()
            let server = try gateway.serve(becomingReady: false)
            #expect(
                try Self.ready(server).text.contains("the secret keys of apps (1) and none of the keys of certificates")
            )
            #expect(try HTTPExchange("GET", port: server.port, "/healthz").answer().status == 200)
            for path in ["", "&explain=1"] {
                let message = TestMessage()
                let query =
                    "sdkappid=\(Self.app)&identifier=administrator&usersig=\(try gateway.userSig("administrator"))"
                let target = "\(message.path)?\(query)&random=1&contenttype=json\(path)"
                let answer = try HTTPExchange("POST", port: server.port, target, body: message.json).answer()
                #expect(answer.status == 200 && answer.header("Retry-After") == "5")
                #expect(try answer.json["ErrorCode"]?.integer == 91000)
                #expect(try answer.json["ErrorInfo"]?.string?.contains(cause) == true, "\(answer.text)")
            }
            let phone = TestPhone(installation: "phone-1")
            let body = #"{"token":"\#(phone.deviceToken)","businessId":1}"#
            let registration = try gateway.phoneAnswer("alice", "PUT", "/v1/devices/phone-1", body)
            #expect(registration.status == 503 && registration.header("Retry-After") == "5")
            #expect(try registration.json["error"]?["code"]?.string == "unavailable")
            #expect(registration.text.contains(cause))
            let channel = #"{"businessId":1,"environment":"sandbox","storage":"none"}"#
            #expect(try gateway.phoneAnswer("administrator", "POST", "/v1/channels", channel).status == 503)
            let pushwoosh = try HTTPExchange(
                "POST",
                port: server.port,
                "/json/1.3/updateLiveActivity",
                body: #"{"request":{"application":"A1B2C-3D4E5","auth":"\#(token)","notifications":[]}}"#,
            ).answer()
            #expect(pushwoosh.status == 500 && pushwoosh.header("Retry-After") == "5")
            #expect(pushwoosh.text.contains(cause), "\(pushwoosh.text)")
            #expect(try gateway.metrics().contains("\nlivepush_unreadable_secrets 3\n"))
            let lines = server.log.split(separator: "\n").filter { $0.contains("wrong master key") }
            #expect(lines.count == 1 && lines.allSatisfy { $0.contains(#""level":"error""#) }, "\(server.log)")
            #expect(!server.log.contains(right))

            // Everything given anew under the key that it has.
            try gateway.setAdministrators("administrator")
            try gateway.addCertificate(
                1,
                key: "ABCDE12345",
                team: "TEAM123456",
                bundleID: GatewayUnderTest.bundleID,
                "sandbox",
            )
            #expect(try server.isReady())
            #expect(server.log.contains("the master key opens the secrets again"))
            try gateway.register()
            try gateway.send()
            _ = try gateway.peer.exactly(1)
        }

        @Test("A channel of a certificate that cannot be opened is not unknown; its app's other certificate works")
        func channelOfUnreadableCertificate() throws {
            try Self.run { gateway, _, _ in
                try gateway.addCertificate(
                    1,
                    key: "ABCDE12345",
                    team: "TEAM123456",
                    bundleID: GatewayUnderTest.bundleID,
                    "sandbox",
                )
                try gateway.serve()
                func list(_ businessID: Int) throws -> HTTPExchange.Answer {
                    let query = "businessId=\(businessID)&environment=sandbox"
                    return try gateway.phoneAnswer("administrator", "GET", "/v1/channels?\(query)")
                }
                let answer = try list(2)
                #expect(answer.status == 503 && answer.text.contains("LIVEPUSH_MASTER_KEY"), "\(answer.text)")
                #expect(try list(3).status == 422)
                // Only its own pushes wait.
                try gateway.register()
                try gateway.send()
                _ = try gateway.peer.exactly(1)
            }
        }

        @Test("A damaged secret of one app leaves the gateway ready, and another app as it was")
        func oneDamagedApp() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let other = 1_400_000_777
            try gateway.setAdministrators("administrator", of: other)
            _ = try gateway.userSig("administrator", of: other)
            try gateway.sql("UPDATE app SET secret_key_sealed = 'damaged' WHERE sdk_app_id = \(other)")
            try gateway.serve()
            try gateway.register()
            try gateway.send()
            _ = try gateway.peer.exactly(1)
            let answer = try gateway.begin(TestMessage(), of: other).answer()
            #expect(try answer.json["ErrorCode"]?.integer == 91000)
            #expect(try Self.ready(try gateway.server).status == 200)
            try gateway.expectSQL("SELECT kind, sdk_app_id FROM alarms", "secret_not_readable|\(other)")
        }
    }
}
