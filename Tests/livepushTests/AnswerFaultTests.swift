import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What APNs answers to pushes, and what becomes of them. A neighbour is served all the time.
    @Suite
    struct AnswerFaultTests {
        // MARK: - Provider tokens and keys

        @Test(
            "C5: fresh provider tokens that APNs calls expired: no storm, no other token, an alarm about clock or key"
        )
        func freshTokenIsCalledExpired() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c5")
                try bench.peer.answer("*:com.ex.app.push-type.liveactivity", .sticking(403, "ExpiredProviderToken"))
                try bench.update("c5", step: 1)
                try bench.expectWaiting("c5", "ExpiredProviderToken")
                for step in 2...6 {
                    try bench.update("c5", step: step)
                }
                try bench.expectServed(.otherApp)
                try bench.expectServed(.otherEnvironment)
                try bench.gateway.expectSQL(
                    """
                    SELECT environment, what_to_do LIKE '%clock%key%' FROM alarms WHERE kind = 'provider_token_refused'
                    """,
                    "sandbox|t"
                )
                #expect(try bench.pushes(to: phone.activityToken, 1).prefix(2).contains { $0.status == 403 })
                try bench.peer.heal()
                try bench.gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 20)
                let pushes = try bench.pushes(to: phone.activityToken, 2)
                // The connection that refused once would have refused for ever.
                let refusing = Set(pushes.filter { $0.status == 403 }.map(\.connection))
                #expect(refusing.isDisjoint(with: pushes.filter { $0.status == 200 }.map(\.connection)))
                #expect(pushes.filter { $0.status == 403 }.count <= 3, "\(pushes)")
                #expect(pushes.last?.contentState == #"{"step":6}"#)
                #expect(Set(pushes.compactMap { $0["authorization"] }).count == 1)
            }
        }

        @Test("TooManyProviderTokenUpdates, for ever on its connection: the same token on another connection")
        func tooManyTokenUpdates() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("updates", laID: nil)
                try bench.peer.answer(phone.deviceToken, .sticking(429, "TooManyProviderTokenUpdates"))
                try bench.notify("updates")
                let pushes = try bench.pushes(to: phone.deviceToken, 2)
                #expect(pushes.map(\.status) == [429, 200])
                #expect(pushes[0].connection != pushes[1].connection)
                #expect(pushes[0]["authorization"] == pushes[1]["authorization"])
                #expect(pushes[0]["apns-id"] == pushes[1]["apns-id"])
                try bench.expect("updates", "notification|accepted_by_apns||1")
            }
        }

        @Test(
            "C12: a key of the other environment, in both spellings: pushes wait, tokens stay, the alarm names it",
            arguments: ["BadEnvironmentKeyInToken", "BadEnvironmentKeyIdInToken"]
        )
        func keyOfTheOtherEnvironment(reason: String) throws {
            try FaultBench.run { bench in
                let phone = try bench.phone(reason)
                let topic = "*:com.ex.app.push-type.liveactivity"
                try bench.peer.answer(topic, .status(403, reason, times: 0))
                try bench.update(reason, step: 1)
                try bench.expectWaiting(reason, reason)
                try bench.expectServed(.otherApp)
                try bench.expectServed(.otherEnvironment)
                try bench.gateway.expectSQL(
                    """
                    SELECT key_id, environment FROM alarms
                    WHERE kind = 'signing_key_refused' AND detail LIKE '%in sandbox: \(reason)%'
                    """,
                    "ABCDE12345|sandbox"
                )
                let rows = """
                    SELECT (SELECT count(*) FROM device WHERE account = '\(reason)'),
                        (SELECT count(*) FROM live_activity WHERE account = '\(reason)')
                    """
                #expect(try bench.gateway.sql(rows) == "1|1")
                try bench.peer.heal()
                let isThrough = try eventually(within: 20) {
                    try bench.pushes(to: phone.activityToken).last?.status == 200
                }
                #expect(isThrough)
            }
        }

        @Test("A topic that the key may not push to holds up that topic only")
        func refusedTopic() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("topic")
                let topic = "*:com.ex.app.push-type.liveactivity"
                try bench.peer.answer(topic, .status(400, "TopicDisallowed", times: 0))
                try bench.update("topic", step: 1)
                try bench.expectWaiting("topic", "TopicDisallowed")
                let open = #"livepush_circuit_open{environment="sandbox",topic="com.ex.app.push-type.liveactivity""#
                #expect(try bench.metric(open) == 1)
                let showsWait = try eventually(within: 10) { try bench.metric("livepush_retry_oldest_seconds") > 0.5 }
                #expect(showsWait)
                try bench.notify("topic")
                #expect(try bench.pushes(to: phone.deviceToken, 1).map(\.status) == [200])
                try bench.expectServed(.otherApp)
                try bench.peer.heal()
                let isThrough = try eventually(within: 20) {
                    try bench.pushes(to: phone.activityToken).last?.status == 200
                }
                #expect(isThrough)
            }
        }

        @Test(
            "One phone whose Live Activity pushes APNs always refuses holds up no other phone, and is recorded as refused",
            arguments: [(403, "Forbidden"), (400, "TopicDisallowed")],
        )
        func oneRefusedPhone(status: Int, reason: String) throws {
            try FaultBench.run { bench in
                let accounts = (1...6).map { "\(reason)-\($0)" }
                let phones = try accounts.map { try bench.phone($0) }
                try bench.peer.answer(phones[0].activityToken, .status(status, reason, times: 0))
                // The bad one first and again and again, as a queue has it.
                for step in 1...2 {
                    for account in accounts {
                        try bench.gateway.send {
                            $0.recipients = [account]
                            $0.contentState = #"{"step":\#(step)}"#
                        }
                    }
                    for phone in phones.dropFirst() {
                        let isThrough = try eventually(within: 10) {
                            try bench.pushes(to: phone.activityToken).last?.contentState == #"{"step":\#(step)}"#
                        }
                        #expect(isThrough)
                    }
                }
                try bench.gateway.expectSQL(
                    """
                    SELECT DISTINCT account, outcome, apns_status, apns_reason FROM recent_deliveries
                    WHERE account LIKE '\(reason)-%' AND outcome NOT IN ('accepted_by_apns', 'superseded')
                    """,
                    "\(reason)-1|refused|\(status)|\(reason)",
                    within: 20,
                )
                #expect(try bench.pushes(to: phones[0].deviceToken).isEmpty)
                #expect(try bench.pushes(to: phones[0].activityToken).count <= 5)
                try bench.gateway.expectSQL("SELECT count(*) FROM alarms WHERE kind = 'topic_refused'", "0", within: 10)
            }
        }

        @Test(
            "C15: a revoked key is replaced in the running gateway: its connections end, its queue goes out, no token goes"
        )
        func replacedKey() throws {
            try GatewayUnderTest.run(flags: FaultBench.flags) { gateway in
                let phone = try gateway.register()
                try gateway.send()
                let first = try gateway.peer.exactly(1)[0]
                try gateway.peer.answer("key:ABCDE12345", .status(403, "InvalidProviderToken", times: 0))
                for step in 1...3 {
                    try gateway.send {
                        $0.contentState = #"{"step":\#(step)}"#
                        $0.laID = step == 1 ? nil : "order-1"
                    }
                }
                try gateway.expectSQL(
                    "SELECT DISTINCT reason_code FROM undelivered WHERE account = 'alice' AND reason_code <> ''",
                    "InvalidProviderToken"
                )
                try gateway.expectSQL("SELECT key_id FROM alarms WHERE kind = 'signing_key_refused'", "ABCDE12345")
                try gateway.addCertificate(
                    1,
                    key: GatewayUnderTest.spareKeyID,
                    team: "TEAM123456",
                    bundleID: GatewayUnderTest.bundleID,
                    "sandbox"
                )
                let isClosed = try eventually(within: 20) {
                    try gateway.peer.connections().first { $0["number"]?.integer == first.connection }?["closed"]?
                        .double
                        != nil
                }
                #expect(isClosed)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 30)
                let taken = try gateway.peer.pushes().filter { $0.status == 200 }
                #expect(taken.last?.contentState == #"{"step":3}"# || taken.last?.pushType == "alert")
                let later = taken.dropFirst()
                #expect(!later.isEmpty && later.allSatisfy { $0["authorization"] != first["authorization"] })
                #expect(Set(later.map(\.token)) == [phone.activityToken, phone.deviceToken])
                #expect(try gateway.sql("SELECT count(*) FROM device") == "1")
                #expect(try gateway.sql("SELECT count(*) FROM live_activity") == "1")
            }
        }

        @Test("C9: a provider token that is called expired on a wedged connection is replaced, and goes by another one")
        func wedgedConnection() throws {
            try GatewayUnderTest.run(flags: FaultBench.flags) { gateway in
                let phone = try gateway.register()
                try gateway.send { $0.laID = nil }
                let former = try gateway.peer.exactly(1)[0]
                // Old enough to be replaced, for a gateway that has not seen it before.
                try gateway.sql("UPDATE provider_token SET issued_at = issued_at - interval '25 minutes'")
                try gateway.serve(FaultBench.flags)
                try gateway.peer.answer(phone.deviceToken, .sticking(403, "ExpiredProviderToken"))
                try gateway.send { $0.laID = nil }
                try gateway.send { $0.laID = nil }
                try gateway.expectSQL("SELECT count(*) FROM delivery WHERE outcome = 'accepted_by_apns'", "3")
                let pushes = try gateway.peer.pushes().dropFirst()
                let refused = pushes.filter { $0.status == 403 }
                let taken = pushes.filter { $0.status == 200 }
                #expect(!refused.isEmpty && taken.count == 2)
                #expect(Set(refused.map(\.connection)).isDisjoint(with: taken.map(\.connection)))
                #expect(Set(taken.compactMap { $0["authorization"] }).count == 1)
                #expect(taken[0]["authorization"] != former["authorization"])
            }
        }

        // MARK: - Waiting and trying again

        @Test("429 holds up that token only: for retry-after where APNs names it, else for the flag's time, doubling")
        func tooManyRequests() throws {
            try FaultBench.run { bench in
                let (named, unnamed) = (try bench.phone("429-named"), try bench.phone("429-unnamed"))
                try bench.peer.answer(named.activityToken, .tooManyRequests(retryAfter: 1))
                try bench.peer.answer(unnamed.activityToken, .status(429, times: 2))
                try bench.update("429-named", step: 1)
                try bench.update("429-unnamed", step: 1)
                // Another token of the same app and key.
                try bench.notify("429-named")
                try bench.expectServed(.otherApp)
                let waited = try bench.pushes(to: named.activityToken, 2)
                let notified = try bench.pushes(to: named.deviceToken, 1)
                #expect(waited.map(\.status) == [429, 200])
                #expect(waited[1].received - waited[0].received >= 1)
                #expect(notified[0].received < waited[1].received)
                let doubled = try bench.pushes(to: unnamed.activityToken, 3)
                #expect(doubled.map(\.status) == [429, 429, 200])
                #expect(doubled[1].received - doubled[0].received >= 0.3)
                #expect(doubled[2].received - doubled[1].received >= 0.6)
                #expect(Set(doubled.map { $0["apns-id"] }).count == 1)
                #expect(Set(doubled.map { $0["apns-collapse-id"] }).count == 1)
            }
        }

        @Test("503 with retry-after: not before that, whatever the schedule says")
        func unavailableUntil() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("503-until", laID: nil)
                try bench.peer.answer(phone.deviceToken, .unavailable(retryAfter: 2), .status(503))
                try bench.notify("503-until")
                let pushes = try bench.pushes(to: phone.deviceToken, 3)
                #expect(pushes.map(\.status) == [503, 503, 200])
                #expect(pushes[1].received - pushes[0].received >= 2)
                #expect(pushes[2].received - pushes[1].received < 2)
                #expect(Set(pushes.map { $0["apns-id"] }).count == 1)
            }
        }

        @Test(
            "C89: 503 twice, then 200: three requests under one apns-id, further and further apart, with one expiration"
        )
        func runOfServerErrors() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c89")
                try bench.peer.answer(phone.deviceToken, .status(503), .status(500))
                try bench.notify("c89") { $0.lifetime = 600 }
                let pushes = try bench.pushes(to: phone.deviceToken, 3)
                #expect(pushes.map(\.status) == [503, 500, 200])
                for header in ["apns-id", "apns-collapse-id", "apns-expiration", "apns-topic", "apns-priority"] {
                    #expect(Set(pushes.map { $0[header] }).count == 1, "\(header)")
                }
                #expect(pushes[1].received - pushes[0].received >= 0.2)
                #expect(pushes[2].received - pushes[1].received >= 0.4)
                let accepted = try bench.gateway.sql(
                    "SELECT floor(extract(epoch FROM accepted_at))::bigint FROM message ORDER BY id DESC LIMIT 1"
                )
                let expiration = try #require(pushes[0]["apns-expiration"].flatMap { Int64($0) })
                #expect(abs(expiration - (try #require(Int64(accepted))) - 600) <= 1)
                try bench.expect("c89", "notification|accepted_by_apns||3")
            }
        }

        @Test("C89: the message's lifetime bounds what is tried, and nothing goes out after it")
        func lifetimeBoundsRetries() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c89-end", laID: nil)
                try bench.peer.answer(phone.deviceToken, .status(503, times: 0))
                try bench.notify("c89-end") { $0.lifetime = 2 }
                try bench.gateway.expectSQL(
                    "SELECT outcome, apns_status, attempts > 1 FROM recent_deliveries WHERE account = 'c89-end'",
                    "expired|503|t"
                )
                let pushes = try bench.pushes(to: phone.deviceToken)
                let expiration = try #require(pushes[0]["apns-expiration"].flatMap { Double($0) })
                #expect(pushes.allSatisfy { $0.received < expiration + 1 })
            }
        }

        @Test(
            "C90: in place of an old state that waits the newest goes out, under its own ids; the old one is superseded"
        )
        func newestStateGoesOut() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c90")
                try bench.peer.answer(phone.activityToken, .status(500, times: 0))
                try bench.update("c90", step: 1)
                let first = try bench.pushes(to: phone.activityToken, 2)
                try bench.update("c90", step: 2)
                try bench.gateway.expectSQL(
                    """
                    SELECT count(DISTINCT message_id) FROM delivery WHERE account = 'c90' AND outcome = 'superseded'
                    """,
                    "1"
                )
                try bench.peer.heal()
                try bench.expect(
                    "c90",
                    "live_activity|superseded|InternalServerError|\(try attempts("c90", bench))",
                    "live_activity|accepted_by_apns||\(try lastAttempts("c90", bench))"
                )
                let pushes = try bench.pushes(to: phone.activityToken)
                let newest = pushes.filter { $0.contentState == #"{"step":2}"# }
                #expect(newest.last?.status == 200)
                #expect(pushes.last?.contentState == #"{"step":2}"#)
                #expect(pushes.filter { $0.status == 200 }.count == 1)
                #expect(Set(newest.map { $0["apns-id"] }).count == 1)
                #expect(newest[0]["apns-id"] != first[0]["apns-id"])
                #expect(newest[0]["apns-collapse-id"] != first[0]["apns-collapse-id"])
            }
        }

        private func attempts(_ account: String, _ bench: FaultBench) throws -> String {
            try bench.gateway.sql(
                "SELECT attempts FROM delivery WHERE account = '\(account)' AND outcome = 'superseded'"
            )
        }

        private func lastAttempts(_ account: String, _ bench: FaultBench) throws -> String {
            try bench.gateway.expectSQL(
                "SELECT count(*) FROM delivery WHERE account = '\(account)' AND outcome = 'accepted_by_apns'",
                "1"
            )
            return try bench.gateway.sql(
                "SELECT attempts FROM delivery WHERE account = '\(account)' AND outcome = 'accepted_by_apns'"
            )
        }

        @Test("C90: 503 Shutdown goes out again at once on another connection, under the same ids")
        func shutdown() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("shutdown", laID: nil)
                try bench.peer.answer(phone.deviceToken, .status(503, "Shutdown"))
                try bench.notify("shutdown")
                let pushes = try bench.pushes(to: phone.deviceToken, 2)
                #expect(pushes.map(\.status) == [503, 200])
                #expect(pushes[0].connection != pushes[1].connection)
                #expect(pushes[0]["apns-id"] == pushes[1]["apns-id"])
                // One attempt: it did not wait for the schedule.
                try bench.expect("shutdown", "notification|accepted_by_apns||1")
            }
        }

        @Test(
            "C86: of ten receivers one has a bad token and one meets 500: eight ok, each has its row, the answer lists all"
        )
        func tenReceivers() throws {
            try FaultBench.run { bench in
                let (accounts, tokens) = try bench.devices("c86", 10)
                try bench.peer.answer(tokens[2], .status(400, "BadDeviceToken", times: 0))
                try bench.peer.answer(tokens[6], .status(500))
                let key = try bench.notify(accounts)
                try bench.gateway.expectSQL(
                    """
                    SELECT account, outcome, apns_reason, attempts FROM recent_deliveries WHERE msg_key = '\(key)'
                    ORDER BY length(account), account
                    """,
                    (1...10).map { number in
                        switch number {
                        case 3: "c86-3|refused|BadDeviceToken|2"
                        case 7: "c86-7|accepted_by_apns||2"
                        default: "c86-\(number)|accepted_by_apns||1"
                        }
                    }.joined(separator: "\n")
                )
                let answer = try bench.gateway.phone("administrator", "GET", "/v1/messages/\(key)")
                let recipients = try #require(answer["messages"]?.elements.first?["recipients"]?.elements)
                #expect(Set(recipients.compactMap { $0["account"]?.string }) == Set(accounts))
                #expect(
                    recipients.first { $0["account"]?.string == "c86-3" }?["apnsReason"]?.string == "BadDeviceToken"
                )
                // Once in each environment.
                #expect(try bench.pushes(to: tokens[2]).map(\.environment) == ["sandbox", "production"])
                #expect(try bench.pushes(to: tokens[6], 2).map(\.status) == [500, 200])
                #expect(try bench.gateway.sql("SELECT count(*) FROM device WHERE account LIKE 'c86-%'") == "10")
            }
        }

        // MARK: - Tokens

        @Test("C53: an activity token's death forgets that activity only and sends one fallback; the token works again")
        func deadActivityToken() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c53")
                var other = phone
                other.activityToken = TestPhone.token(bytes: 80)
                try bench.gateway.register("c53", activity: "order-2", other)
                let second = TestPhone(installation: "second-phone-of-c53")
                try bench.gateway.register("c53", activity: "order-1", second)
                for token in [phone.activityToken, second.activityToken] {
                    try bench.peer.answer(token, .status(410, "ExpiredToken"))
                }
                try bench.update("c53", step: 1)
                try bench.expect(
                    "c53",
                    "live_activity|token_dead|ExpiredToken|1",
                    "live_activity|token_dead|ExpiredToken|1",
                    "notification|accepted_by_apns||1"
                )
                #expect(try bench.pushes(to: phone.deviceToken).count == 1)
                let left = "SELECT la_id, installation FROM live_activity WHERE account = 'c53'"
                #expect(try bench.gateway.sql(left) == "order-2|\(phone.installation)")

                try bench.gateway.register("c53", activity: "order-1", phone)
                try bench.update("c53", step: 2)
                #expect(try bench.pushes(to: phone.activityToken, 2).map(\.status) == [410, 200])
                #expect(try bench.pushes(to: phone.deviceToken).count == 1)
            }
        }

        @Test(
            "C52: eight hours after its start an activity counts as unregistered: a notification, no Live Activity push"
        )
        func activityOfYesterday() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c52")
                let age = "interval '8 hours 1 minute'"
                try bench.gateway.sql(
                    """
                    UPDATE live_activity SET started_at = started_at - \(age), registered_at = registered_at - \(age)
                    WHERE account = 'c52'
                    """
                )
                try bench.update("c52", step: 1)
                try bench.expect("c52", "notification|accepted_by_apns||1")
                #expect(try bench.pushes(to: phone.activityToken).isEmpty)
                #expect(try bench.pushes(to: phone.deviceToken).count == 1)
            }
        }
    }
}
