import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What APNs, or the network before it, does to connections and streams. A neighbour is served all the time.
    @Suite
    struct ConnectionFaultTests {
        // MARK: - GOAWAY

        private static let goAways: [(reason: String?, last: String, times: Int)] = [
            (nil, "mid", 1), ("Shutdown", "none", 1), (nil, "mid", 2),
        ]

        @Test(
            "C16: a GOAWAY under 30 pushes, with reason or without, once or twice: each is processed once",
            arguments: goAways
        )
        func goAwayUnderLoad(reason: String?, last: String, times: Int) throws {
            try FaultBench.run { bench in
                let name = "c16-\(reason ?? "nil")-\(last)-\(times)"
                let (accounts, tokens) = try bench.devices(name, 31)
                try bench.notify(accounts[30])
                _ = try bench.pushes(to: tokens[30], 1)
                try bench.peer.answer("*", .late(1, times: 0))
                try bench.notify(Array(accounts[..<30]))
                _ = try bench.peer.pushes(31)
                try bench.peer.goAway(reason: reason, last: last, times: times)
                try bench.peer.heal()
                let outcomes = """
                    SELECT outcome, attempts, count(*) FROM recent_deliveries WHERE account LIKE '\(name)-%' GROUP BY 1, 2
                    """
                try bench.gateway.expectSQL(outcomes, "accepted_by_apns|1|31")
                let pushes = try bench.peer.pushes().filter { tokens.contains($0.token) }
                let processed = pushes.filter { $0.status == 200 }
                #expect(processed.count == 31)
                #expect(Set(processed.map(\.token)).count == 31)
                let leftOut = pushes.filter { $0.reason == "left out" }
                #expect(!leftOut.isEmpty && leftOut.allSatisfy { $0.status == nil })
                // Sent again under the same id.
                #expect(Set(pushes.compactMap { $0["apns-id"] }).count == 31)
            }
        }

        @Test("C17: after a GOAWAY on a connection that stays and refuses, the next push takes another within a second")
        func goneConnectionIsLeft() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c17", laID: nil)
                try bench.notify("c17")
                var former = try bench.pushes(to: phone.deviceToken, 1)[0].connection
                var quickest = Double.infinity
                for number in 2...4 {
                    try bench.peer.goAway(refusing: true)
                    let key = try bench.notify("c17")
                    let push = try bench.pushes(to: phone.deviceToken, number)[number - 1]
                    #expect(push.connection != former)
                    former = push.connection
                    let accepted = try bench.gateway.sql(
                        "SELECT extract(epoch FROM accepted_at) FROM message WHERE msg_key = '\(key)'"
                    )
                    quickest = min(quickest, push.received - (try #require(Double(accepted))))
                    try bench.gateway.expectSQL(
                        "SELECT outcome, attempts FROM recent_deliveries WHERE msg_key = '\(key)'",
                        "accepted_by_apns|1"
                    )
                }
                // Of several, since a busy machine is slow now and then.
                #expect(quickest < 1)
            }
        }

        @Test("C18: GOAWAY instead of SETTINGS: what waits is tried again with pauses, an alarm says so, all goes out")
        func goAwayInsteadOfSettings() throws {
            try FaultBench.run { bench in
                try bench.expectServed(.otherApp)
                let phone = try bench.phone("c18")
                try bench.peer.meet("sandbox", .goAway(nil, times: 0))
                try bench.peer.goAway()
                try bench.update("c18", step: 1)
                try bench.expectWaiting("c18", "connect_failed")
                try bench.gateway.expectSQL(
                    "SELECT environment, detail LIKE '%GOAWAY%' FROM alarms WHERE kind = 'apns_unreachable'",
                    "sandbox|t"
                )
                try bench.expectServed(.otherEnvironment)
                let attempts = try bench.peer.accepted(by: "sandbox").compactMap { $0["at"]?.double }
                let span = try #require(attempts.last) - (try #require(attempts.first))
                // After the first few one for each --apns-reconnect-limit, less half of it by chance.
                #expect(attempts.count >= 2 && Double(attempts.count) <= 5 + span / 0.2, "\(attempts)")
                try bench.peer.heal()
                #expect(try bench.pushes(to: phone.activityToken, 1).map(\.status) == [200])
                try bench.gateway.expectSQL(
                    "SELECT outcome FROM recent_deliveries WHERE account = 'c18'",
                    "accepted_by_apns"
                )
                try bench.gateway.expectSQL("SELECT count(*) FROM alarms WHERE kind = 'apns_unreachable'", "0")
            }
        }

        @Test(
            "C20: a GOAWAY without error whose reason is a credential's: log, metric and alarm carry it, no tight loop"
        )
        func goAwayBecauseOfCredentials() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c20")
                let reason = "BadCertificateEnvironment"
                let before = try bench.metric(#"livepush_apns_goaway_total{environment="sandbox",reason="\#(reason)"}"#)
                try bench.peer.meet("sandbox", .goAway(reason, times: 0))
                try bench.peer.goAway()
                try bench.update("c20", step: 1)
                try bench.expectWaiting("c20", reason)
                try bench.gateway.expectSQL(
                    """
                    SELECT key_id, environment FROM alarms
                    WHERE kind = 'signing_key_refused' AND detail LIKE '%\(reason)%'
                    """,
                    "ABCDE12345|sandbox"
                )
                #expect(bench.server.log.contains(reason))
                let counted = try bench.metric(
                    #"livepush_apns_goaway_total{environment="sandbox",reason="\#(reason)"}"#
                )
                #expect(counted > before)
                try bench.expectServed(.otherEnvironment)
                let attempts = try bench.peer.accepted(by: "sandbox").compactMap { $0["at"]?.double }
                // One for each probe, 0.5 s and then 1 s apart.
                #expect(zip(attempts, attempts.dropFirst()).allSatisfy { $1 - $0 > 0.3 }, "\(attempts)")
                try bench.peer.heal()
                #expect(try bench.pushes(to: phone.activityToken, 1).map(\.status) == [200])
            }
        }

        // MARK: - Connecting

        @Test(
            "C35: a connection that never gets through TLS, or to SETTINGS, holds up no push",
            arguments: [.noTLS(), .noSettings(), .swallowing()] as [APNsPeer.Door]
        )
        func oneConnectionHangs(door: APNsPeer.Door) throws {
            try FaultBench.run { bench in
                let account = "c35-\(door.json.filter(\.isLetter))"
                let phone = try bench.phone(account)
                try bench.peer.meet("sandbox", door)
                try bench.peer.goAway()
                try bench.update(account, step: 1)
                #expect(try bench.pushes(to: phone.activityToken, 1).count == 1)
                try bench.expect(account, "live_activity|accepted_by_apns||1")
            }
        }

        @Test(
            "C35, C39: while no connection can be made pushes wait, with the reason, and go out when one can",
            arguments: [
                (.noTLS(times: 0), "no connection in time"), (.noSettings(times: 0), "no HTTP/2 SETTINGS in time"),
                (.otherName(times: 0), "mismatch"), (.otherRoot(times: 0), "unable to get local issuer certificate"),
            ] as [(APNsPeer.Door, String)]
        )
        func noConnection(door: APNsPeer.Door, reason: String) throws {
            try FaultBench.run { bench in
                let account = "c39-\(door.json.filter(\.isLetter))"
                let phone = try bench.phone(account)
                try bench.peer.meet("sandbox", door)
                try bench.peer.goAway()
                try bench.update(account, step: 1)
                try bench.expectWaiting(account, "connect_failed")
                try bench.gateway.expectSQL(
                    "SELECT detail LIKE '%localhost%' FROM alarms WHERE kind = 'apns_unreachable' AND environment = 'sandbox'",
                    "t"
                )
                #expect(
                    bench.server.log.split(separator: "\n").contains {
                        $0.contains("no connection to APNs") && $0.contains("localhost") && $0.contains(reason)
                    }
                )
                try bench.expectServed(.otherEnvironment)
                #expect(try bench.pushes(to: phone.activityToken).isEmpty)
                try bench.peer.heal()
                #expect(try bench.pushes(to: phone.activityToken, 1).count == 1)
            }
        }

        // MARK: - Silence

        @Test("C22: a connection that a firewall forgot is found dead while idle, and the next push takes another")
        func forgottenWhileIdle() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("c22", laID: nil)
                try bench.notify("c22")
                let first = try bench.pushes(to: phone.deviceToken, 1)[0]
                let lost = { bench.server.log.matches(of: /no answer to a PING/).count }
                let before = lost()
                try bench.peer.turn("TEAM123456", .swallowing())
                let isNoticed = eventually { lost() > before }
                #expect(isNoticed)
                try bench.notify("c22")
                let second = try bench.pushes(to: phone.deviceToken, 2)[1]
                #expect(second.connection != first.connection)
                try bench.expect("c22", "notification|accepted_by_apns||1", "notification|accepted_by_apns||1")
            }
        }

        @Test(
            "A connection that answers no request any more, whether PINGs or not, is left after the first time-out",
            arguments: [.swallowing(), .mute()] as [APNsPeer.Door]
        )
        func silenceOnAll(door: APNsPeer.Door) throws {
            try FaultBench.run { bench in
                let account = "silence-\(door.json.filter(\.isLetter))"
                let phone = try bench.phone(account)
                try bench.update(account, step: 1)
                let first = try bench.pushes(to: phone.activityToken, 1)[0]
                try bench.peer.turn("TEAM123456", door)
                try bench.update(account, step: 2)
                try bench.expectServed(.otherApp)
                try bench.expectServed(.otherEnvironment)
                let reason = "SELECT outcome, attempts FROM recent_deliveries WHERE account = '\(account)'"
                try bench.gateway.expectSQL(
                    reason + " ORDER BY message_id",
                    "accepted_by_apns|1\naccepted_by_apns|2",
                    within: 20
                )
                let pushes = try bench.pushes(to: phone.activityToken, 2)
                let last = try #require(pushes.last)
                #expect(last.connection != first.connection)
                #expect(last.status == 200)
                #expect(Set(pushes.dropFirst().compactMap { $0["apns-id"] }).count == 1)
            }
        }

        @Test("C23: silence on one stream of 50: that push alone is tried again, under the same id")
        func silenceOnOne() throws {
            try FaultBench.run { bench in
                let (accounts, tokens) = try bench.devices("c23", 50)
                try bench.peer.answer(tokens[20], .silence())
                try bench.notify(accounts)
                try bench.gateway.expectSQL(
                    """
                    SELECT attempts, count(*) FROM recent_deliveries
                    WHERE account LIKE 'c23-%' AND outcome = 'accepted_by_apns' GROUP BY 1 ORDER BY 1
                    """,
                    "1|49\n2|1"
                )
                let silent = try bench.pushes(to: tokens[20], 2)
                #expect(silent.map(\.status) == [nil, 200])
                #expect(Set(silent.compactMap { $0["apns-id"] }).count == 1)
                let late = """
                    SELECT max(finished_at - accepted_at) < interval '3 s' FROM recent_deliveries
                    WHERE account LIKE 'c23-%' AND attempts = 1
                    """
                #expect(try bench.gateway.sql(late) == "t")
                #expect(try bench.metric("livepush_apns_streams_open") == 0)
            }
        }

        @Test("Slow answers hold up nothing: 40 pushes that take a second each are done after little more")
        func slowAnswers() throws {
            try FaultBench.run { bench in
                let (accounts, tokens) = try bench.devices("slow", 41)
                try bench.notify(accounts[40])
                _ = try bench.pushes(to: tokens[40], 1)
                try bench.peer.answer("*:\(GatewayUnderTest.bundleID)", .late(1, times: 0))
                try bench.notify(Array(accounts[..<40]))
                try bench.expectServed(.otherApp)
                try bench.gateway.expectSQL(
                    "SELECT outcome, attempts, count(*) FROM recent_deliveries WHERE account LIKE 'slow-%' GROUP BY 1, 2",
                    "accepted_by_apns|1|41"
                )
            }
        }

        // MARK: - Streams

        @Test(
            "C88: a push whose stream is reset, or whose connection ends, after it was processed is sent again, same ids",
            arguments: [.reset(code: 8), .reset(code: 2), .closedConnection] as [APNsPeer.Action]
        )
        func lostAnswer(action: APNsPeer.Action) throws {
            try FaultBench.run { bench in
                let account = "c88-\(action.json.filter { $0.isLetter || $0.isNumber })"
                let phone = try bench.phone(account)
                try bench.peer.answer(phone.activityToken, action)
                try bench.peer.answer(phone.deviceToken, action)
                try bench.update(account, step: 1)
                let updates = try bench.pushes(to: phone.activityToken, 2)
                try bench.notify(account)
                let alerts = try bench.pushes(to: phone.deviceToken, 2)
                for pushes in [updates, alerts] {
                    #expect(pushes.map(\.status) == [nil, 200])
                    #expect(Set(pushes.map { $0["apns-id"] }).count == 1)
                    #expect(Set(pushes.map { $0["apns-collapse-id"] }).count == 1)
                    #expect((1...64).contains(pushes[0]["apns-collapse-id"]?.utf8.count ?? 0))
                }
                // Within ten seconds the phone would show the same update twice, so it gets the same timestamp.
                if updates[1].received - updates[0].received < 9 {
                    #expect(updates[0].timestamp == updates[1].timestamp)
                }
                try bench.expect(account, "live_activity|accepted_by_apns||2", "notification|accepted_by_apns||2")
                try bench.gateway.expectSQL(
                    "SELECT route, answers_lost FROM recent_deliveries WHERE account = '\(account)' ORDER BY 1",
                    "live_activity|1\nnotification|1"
                )
            }
        }

        @Test("A peer that refuses every stream: pushes wait, no storm, and go out once it takes them")
        func everyStreamIsRefused() throws {
            try FaultBench.run { bench in
                let phone = try bench.phone("refused")
                try bench.peer.meet("sandbox", .refusing(times: 0))
                try bench.peer.goAway(refusing: true)
                try bench.update("refused", step: 1)
                try bench.gateway.expectSQL(
                    """
                    SELECT DISTINCT reason_code IN ('stream_refused', 'connect_failed') FROM undelivered
                    WHERE account = 'refused' AND reason_code <> ''
                    """,
                    "t"
                )
                try bench.expectServed(.otherEnvironment)
                try bench.peer.heal()
                #expect(try bench.pushes(to: phone.activityToken, 1).map(\.status) == [200])
            }
        }

        @Test("C27: a limit that falls to 1 with every refusal: 1000 pushes with 300 bad tokens are soon through")
        func limitFallsAndRises() throws {
            try FaultBench.run { bench in
                // Of a bundle id that has no certificate for the other environment: there is no second try.
                let (accounts, tokens) = try bench.devices("c27", 1000, businessID: 2)
                try bench.peer.limit(streams: 1000, afterRefusal: 1)
                defer { try? bench.peer.limit(streams: 1000) }
                for token in tokens.indices where token % 10 < 3 {
                    try bench.peer.answer(tokens[token], .status(400, "BadDeviceToken", times: 0))
                }
                try bench.notify(Array(accounts[..<500]))
                try bench.notify(Array(accounts[500...]))
                try bench.gateway.expectSQL(
                    """
                    SELECT outcome, count(*) FROM recent_deliveries WHERE account LIKE 'c27-%' GROUP BY 1 ORDER BY 1
                    """,
                    "accepted_by_apns|700\nrefused|300",
                    within: 40
                )
                let slowest = """
                    SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - accepted_at)) < 20
                    FROM recent_deliveries WHERE account LIKE 'c27-%'
                    """
                #expect(try bench.gateway.sql(slowest) == "t")
                for connection in try bench.peer.connections() where connection["closed"]?.kind == .null {
                    #expect(connection["refusedByLimit"]?.integer == 0)
                }
                let page = try HTTPExchange("GET", port: bench.server.port, "/metrics").answer().text
                #expect(page.contains(#"livepush_apns_waiting{environment="sandbox"}"#))
                #expect(page.contains(#"livepush_apns_stream_limit{environment="sandbox"}"#))
            }
        }
    }
}
