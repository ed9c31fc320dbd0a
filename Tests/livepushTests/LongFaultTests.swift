import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// What shows only after a while in production, with short intervals.
    @Suite
    struct LongFaultTests {
        @Test("C24: pushes one after the other, while APNs closes connections at random, leave nothing behind")
        func connectionsCloseAtRandom() throws {
            try FaultBench.run { bench in
                let (accounts, tokens) = try bench.devices("c24", 1)
                try bench.notify(accounts)
                _ = try bench.pushes(to: tokens[0], 1)
                let files = try bench.server.openFiles
                var random = SystemRandomNumberGenerator()
                for number in 1...40 {
                    switch Int.random(in: 0..<6, using: &random) {
                    case 0: try bench.peer.answer(tokens[0], .closedConnection)
                    case 1: try bench.peer.turn("TEAM123456", APNsPeer.Door(#""close":true"#))
                    case 2: try bench.peer.goAway()
                    default: break
                    }
                    try bench.notify(accounts)
                    try bench.gateway.expectSQL(
                        "SELECT count(*) FROM delivery WHERE account = 'c24-1' AND outcome = 'accepted_by_apns'",
                        "\(number + 1)"
                    )
                }
                #expect(try bench.gateway.sql("SELECT count(*) FROM pending") == "0")
                #expect(try bench.metric("livepush_recipients_in_memory") == 0)
                #expect(try bench.metric("livepush_apns_streams_open") == 0)
                let isFlat = try eventually { try bench.server.openFiles <= files + 2 }
                #expect(isFlat)
            }
        }

        @Test("C25: hundreds of connections that fail in TLS leave neither files nor memory behind")
        func handshakesFail() throws {
            let flags = [
                "--retry-schedule", "0.01", "--poll-interval", "0.01", "--apns-reconnect-delay", "0.001",
                "--apns-reconnect-limit", "0.001",
            ]
            try GatewayUnderTest.run(flags: flags) { gateway in
                let accounts = (1...20).map { "account-\($0)" }
                try gateway.sql(
                    """
                    INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
                    SELECT \(GatewayUnderTest.sdkAppID), 'account-' || n, 'phone-' || n, sha256(n::text::bytea), 1, 'sandbox'
                    FROM generate_series(1, 20) AS n
                    """
                )
                let server = try gateway.serve(flags)
                try gateway.peer.meet("sandbox", .otherRoot(times: 0))
                try gateway.send {
                    $0.recipients = accounts
                    $0.laID = nil
                }
                func wait(for count: Int) throws {
                    let hasThem = try eventually(within: 60) {
                        try gateway.peer.accepted(by: "sandbox").count >= count
                    }
                    #expect(hasThem)
                }
                try wait(for: 100)
                let (files, megabytes) = (try server.openFiles, try server.megabytes)
                try wait(for: 300)
                #expect(try server.openFiles <= files + 6)
                #expect(try server.megabytes <= megabytes + 8)
                #expect(server.program.status == nil)
                try gateway.peer.heal()
                try gateway.expectSQL("SELECT outcome, count(*) FROM delivery GROUP BY 1", "accepted_by_apns|20")
            }
        }

        @Test(
            "C30: more than a slow APNs takes: callers are told to slow down, memory stays, states coalesce, all is told"
        )
        func slowAPNs() throws {
            let flags = [
                "--memory-limit", "2500", "--activity-interval", "1", "--backlog-limit", "10", "--apns-request-timeout",
                "4",
                "--heartbeat-interval", "0.2", "--retry-schedule", "0.5",
            ]
            try GatewayUnderTest.run(streams: 1, flags: flags) { gateway in
                let accounts = (1...500).map { "account-\($0)" }
                try gateway.sql(
                    """
                    INSERT INTO live_activity
                        (sdk_app_id, account, la_id, installation, token, business_id, environment, started_at)
                    SELECT \(GatewayUnderTest.sdkAppID), 'account-' || n, 'order-1', 'phone-' || n,
                        sha256(n::text::bytea) || sha256((-n)::text::bytea), 1, 'sandbox', now()
                    FROM generate_series(1, 500) AS n
                    """
                )
                let server = try gateway.serve(flags)
                try gateway.peer.answer("*", .late(1, times: 0))
                var accepted = 0
                var refusal: HTTPExchange.Answer?
                var megabytes: Int?
                let isToldToSlowDown = try eventually(within: 60) {
                    let step = accepted + 1
                    let answer = try gateway.begin(
                        TestMessage {
                            $0.recipients = accounts
                            $0.contentState = #"{"step":\#(step)}"#
                        }
                    ).answer()
                    if try answer.json["ActionStatus"]?.string == "OK" {
                        accepted += 1
                        if accepted == 3 {
                            megabytes = try server.megabytes
                        }
                        return false
                    }
                    refusal = answer
                    return true
                }
                #expect(isToldToSlowDown)
                let answer = try #require(refusal)
                #expect(answer.status == 200)
                #expect(try answer.json["ErrorCode"]?.integer == 60_007)
                #expect(Int(answer.header("Retry-After") ?? "") != nil)
                #expect(accepted >= 10)
                #expect(try server.megabytes <= (try #require(megabytes)) + 20)

                try gateway.peer.heal()
                try gateway.peer.limit(streams: 1000)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 60)
                try gateway.expectSQL("SELECT count(*) FROM delivery", "\(accepted * 500)")
                let outcomes = "SELECT DISTINCT outcome FROM delivery ORDER BY 1"
                #expect(try gateway.sql(outcomes) == "accepted_by_apns\nsuperseded")
                let pushes = try gateway.peer.pushes().filter { $0.status == 200 }
                // Far fewer than there were messages, and what the phone shows, that of the newest timestamp, is the
                // newest state. Two connections may carry the last two in either order.
                #expect(pushes.count < accepted * 500 / 2)
                let shown = Dictionary(grouping: pushes, by: \.token).values.compactMap { pushes in
                    pushes.max { ($0.timestamp ?? 0) < ($1.timestamp ?? 0) }?.contentState
                }
                #expect(shown.count == 500)
                #expect(Set(shown) == [#"{"step":\#(accepted)}"#])
            }
        }

        @Test("an APNs that swallows everything does not fill the memory: another key's pushes go out meanwhile")
        func swallowingAPNs() throws {
            let flags = [
                "--memory-limit", "500", "--apns-patience", "0.01", "--apns-connect-timeout",
                "15", "--apns-request-timeout", "15", "--retry-schedule", "0.5", "--poll-interval", "0.1",
            ]
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            try gateway.addCertificate(
                3,
                key: "ABCDE12345",
                team: "TEAM123456",
                bundleID: GatewayUnderTest.bundleID,
                "production",
            )
            try gateway.serve(flags)
            try gateway.sql(
                """
                INSERT INTO device (sdk_app_id, account, installation, token, business_id, environment)
                SELECT \(GatewayUnderTest.sdkAppID), 'account-' || n, 'phone-' || n, sha256(n::text::bytea),
                    CASE WHEN n = 0 THEN 3 ELSE 1 END, CASE WHEN n = 0 THEN 'production' ELSE 'sandbox' END
                FROM generate_series(0, 600) AS n
                """
            )
            try gateway.peer.meet("sandbox", .swallowing(times: 0))
            func notify(_ accounts: ClosedRange<Int>) throws {
                try gateway.send {
                    $0.recipients = accounts.map { "account-\($0)" }
                    $0.laID = nil
                }
            }
            try notify(1...400)
            let inMemory = "SELECT count(*) FROM pending WHERE instance_id IS NOT NULL"
            try gateway.expectSQL(inMemory, "1")
            let putBack = "SELECT count(*) > 0 FROM pending WHERE reason = 'backlogged'"
            var last = 400
            let isPutBack = try eventually {
                guard last < 600 else { return try gateway.sql(putBack) == "t" }
                try notify(last + 1...last + 50)
                last += 50
                return try gateway.sql(putBack) == "t"
            }
            #expect(isPutBack)

            try notify(0...0)
            let outcome = "SELECT outcome FROM delivery WHERE account = 'account-0'"
            try gateway.expectSQL(outcome, "accepted_by_apns", within: 10)
            #expect(try gateway.sql(inMemory) != "0")

            try gateway.peer.heal()
            try gateway.expectSQL("SELECT count(*) FROM pending", "0", within: 60)
            try gateway.expectSQL(
                "SELECT outcome, count(*) FROM delivery GROUP BY 1",
                "accepted_by_apns|\(last + 1)",
            )
        }

        @Test("C33: a push now and then, with PINGs between, goes by one connection")
        func oneConnectionForAll() throws {
            try FaultBench.run { bench in
                let (accounts, tokens) = try bench.devices("c33", 1)
                for number in 1...3 {
                    try bench.notify(accounts)
                    let push = try bench.pushes(to: tokens[0], number)[number - 1]
                    let pings = {
                        try bench.peer.connections().first { $0["number"]?.integer == push.connection }?["pings"]?
                            .integer
                            ?? 0
                    }
                    let before = try pings()
                    let isIdle = try eventually { try pings() > before }
                    #expect(isIdle)
                }
                #expect(Set(try bench.pushes(to: tokens[0]).map(\.connection)).count == 1)
            }
        }
    }
}
