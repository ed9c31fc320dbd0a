import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// The gateway's connections to APNs.
    @Suite
    struct ConnectionTests {
        @Test("C39: a certificate of an unknown root is refused by name and reason, and trusted with its CA file")
        func unknownRootIsNamed() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let mistrusting = try gateway.serve(trustsPeer: false)
            let phone = try gateway.register()
            try gateway.send()
            let isNamed = eventually {
                mistrusting.log.split(separator: "\n").contains {
                    $0.contains("localhost") && $0.contains("unable to get local issuer certificate")
                }
            }
            #expect(isNamed, "\(mistrusting.log)")
            _ = try gateway.peer.exactly(0)
            #expect(mistrusting.program.end(SIGTERM) == 0)

            try gateway.serve()
            #expect(try gateway.peer.exactly(1)[0].token == phone.activityToken)
            try gateway.expectDeliveries("alice|phone-1|live_activity||accepted_by_apns|")
        }

        @Test("C39: a root that stands in the system's store only is trusted")
        func systemRootIsTrusted() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            // Where OpenSSL looks for the system's store.
            gateway.environment["SSL_CERT_FILE"] = gateway.peer.authority
            try gateway.serve(trustsPeer: false)
            try gateway.register()
            try gateway.send()
            #expect(try gateway.peer.exactly(1)[0].status == 200)
        }

        @Test("C26, C28: one stream until the first answer, then as many as the peer allows, and never more")
        func streamLimitIsKept() throws {
            try GatewayUnderTest.run(streams: 7) { gateway in
                let accounts = (1...40).map { "account-\($0)" }
                for (number, account) in accounts.enumerated() {
                    try gateway.sql(
                        """
                        INSERT INTO device (sdk_app_id, account, installation, token, business_id)
                        VALUES (\(GatewayUnderTest.sdkAppID), '\(account)', 'phone-\(number)',
                            decode('\(TestPhone.token(bytes: 32))', 'hex'), 1)
                        """
                    )
                }
                try gateway.peer.answer("*", .late(0.2), .late(0.05), .late(0.05), .late(0.05))
                try gateway.send {
                    $0.recipients = accounts
                    $0.laID = nil
                }
                #expect(try gateway.peer.exactly(40).allSatisfy { $0.status == 200 })
                for connection in try gateway.peer.connections() {
                    #expect(connection["refusedByLimit"]?.integer == 0)
                    #expect(try #require(connection["mostOpen"]?.integer) <= 7)
                }
            }
        }

        @Test(
            "C16, C17: a request that GOAWAY or a refused stream leaves out is sent again on another connection, once",
            arguments: [APNsPeer.Action.goAway, .refusedStream],
        )
        func requestLeftOutIsSentAgain(action: APNsPeer.Action) throws {
            try GatewayUnderTest.run { gateway in
                let phone = try gateway.register()
                try gateway.send()
                _ = try gateway.peer.exactly(1)
                try gateway.peer.answer(phone.activityToken, action)
                try gateway.send { $0.contentState = #"{"step":2}"# }
                let pushes = try gateway.peer.exactly(2)
                #expect(pushes[0].connection != pushes[1].connection)
                #expect(pushes.allSatisfy { $0.status == 200 })
            }
        }

        @Test("C10: two keys of two teams, alternately: a connection carries pushes of one team only")
        func teamsHaveTheirOwnConnections() throws {
            try GatewayUnderTest.run { gateway in
                // The peer refuses a second team on a connection as APNs does: 403 InvalidProviderToken.
                let first = try gateway.register()
                let second = TestPhone(installation: "phone-2")
                try gateway.register("bob", device: second, businessID: 2)
                for step in 1...3 {
                    try gateway.send {
                        $0.recipients = ["alice", "bob"]
                        $0.contentState = #"{"step":\#(step)}"#
                    }
                    _ = try gateway.peer.exactly(2 * step)
                }
                let pushes = try gateway.peer.exactly(6)
                #expect(pushes.allSatisfy { $0.status == 200 })
                let connections = { (token: String) in Set(pushes.filter { $0.token == token }.map(\.connection)) }
                #expect(connections(first.activityToken).isDisjoint(with: connections(second.deviceToken)))
                #expect(Set(pushes.compactMap { $0["authorization"] }).count == 2)
            }
        }

        @Test("C31: 1000 calls one after the other need no more connections to APNs than are configured, and no memory")
        func callsShareConnections() throws {
            try GatewayUnderTest.run { gateway in
                try gateway.register(laID: nil)
                let server = try gateway.serve()
                var megabytes = 0
                for number in 0..<1000 {
                    try gateway.send { $0.random = UInt32(number) }
                    if number == 200 {
                        megabytes = try server.megabytes
                    }
                }
                try gateway.expectSQL("SELECT outcome, count(*) FROM delivery GROUP BY 1", "accepted_by_apns|1000")
                #expect(try gateway.peer.connections().count <= 2)
                #expect(try server.megabytes <= megabytes + 5)
            }
        }

        @Test("C36: a connection that dies under 200 pushes leaves each recipient exactly one outcome")
        func brokenConnectionLosesNobody() throws {
            try GatewayUnderTest.run { gateway in
                let accounts = (1...200).map { "account-\($0)" }
                try gateway.sql(
                    """
                    INSERT INTO device (sdk_app_id, account, installation, token, business_id)
                    SELECT \(GatewayUnderTest.sdkAppID), 'account-' || n, 'phone-' || n, sha256(n::text::bytea), 1
                    FROM generate_series(1, 200) AS n
                    """
                )
                let middle = try gateway.sql("SELECT encode(token, 'hex') FROM device WHERE account = 'account-100'")
                try gateway.peer.answer(middle, .closedConnection)
                try gateway.send {
                    $0.recipients = accounts
                    $0.laID = nil
                }
                try gateway.expectSQL("SELECT count(*) || ' ' || count(DISTINCT account) FROM delivery", "200 200")
                try gateway.expectSQL("SELECT DISTINCT outcome FROM delivery", "accepted_by_apns")
                let pushes = try gateway.peer.pushes()
                let perToken = Dictionary(grouping: pushes, by: \.token)
                #expect(perToken.count == 200)
                for repeats in perToken.values {
                    // An answer may have been lost; the next attempt waits for the schedule.
                    for (former, next) in zip(repeats, repeats.dropFirst()) where former.status != 200 {
                        #expect(next.received - former.received >= 0.2)
                    }
                    #expect(Set(repeats.compactMap { $0["apns-id"] }).count == 1)
                    #expect(Set(repeats.compactMap { $0["apns-collapse-id"] }).count == 1)
                }
            }
        }
    }
}
