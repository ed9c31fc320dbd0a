import TestSupport
import Testing

extension EndToEndTests {
    /// What an operator sees while a gateway meets faults.
    @Suite
    struct AlarmTests {
        @Test("A signing key that APNs refuses is an alarm while its pushes wait, and is over once they go out")
        func refusedKeyIsAnAlarm() throws {
            try GatewayUnderTest.run(flags: ["--hold-delay", "1", "--heartbeat-interval", "0.2"]) { gateway in
                try gateway.register()
                try gateway.peer.answer("*", .status(403, "InvalidProviderToken", times: 2))
                try gateway.send()
                try gateway.expectSQL(
                    "SELECT kind, sdk_app_id, business_id, environment, key_id FROM alarms",
                    "signing_key_refused|\(GatewayUnderTest.sdkAppID)|1|sandbox|ABCDE12345",
                    within: 4,
                )
                #expect(
                    try gateway.sql(
                        "SELECT health, held_because LIKE '%InvalidProviderToken' FROM app_health WHERE business_id = 1"
                    )
                        == "failing|t"
                )
                let reason = try gateway.sql("SELECT reason, outcome FROM undelivered")
                #expect(reason.hasPrefix("APNs refuses the signing key"), "\(reason)")
                try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
                try gateway.expectSQL("SELECT kind FROM alarms", "", within: 10)
                #expect(try gateway.sql("SELECT count(*) FROM alarm WHERE ended_at IS NOT NULL") == "1")
                #expect(try gateway.sql("SELECT health FROM app_health WHERE business_id = 1") == "ok")
            }
        }

        @Test("C18: an APNs that cannot be reached is an alarm")
        func unreachableAPNsIsAnAlarm() throws {
            let nobody = try PrivatePostgres.freePort()
            let flags = ["--apns-sandbox", "https://127.0.0.1:\(nobody)", "--heartbeat-interval", "0.2"]
            try GatewayUnderTest.run(flags: flags) { gateway in
                try gateway.register()
                try gateway.send()
                try gateway.expectSQL(
                    "SELECT kind, sdk_app_id, environment, detail LIKE 'no connection to APNs in sandbox: %' FROM alarms",
                    "apns_unreachable||sandbox|t",
                )
            }
        }

        @Test("A row that PostgreSQL refuses is an alarm")
        func refusedRowIsAnAlarm() throws {
            try GatewayUnderTest.run(flags: ["--heartbeat-interval", "0.2"]) { gateway in
                try gateway.failStatements(on: "delivery", when: "true")
                try gateway.register()
                try gateway.send()
                try gateway.expectSQL("SELECT kind, detail LIKE '%an outcome%P0001%' FROM alarms", "database_refused|t")
            }
        }
    }
}
