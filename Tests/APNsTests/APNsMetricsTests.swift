import APNs
import Metrics
import Testing

@Suite(.serialized, .timeLimit(.minutes(5)))
struct APNsMetricsTests {
    @Test("C27: connections, streams, their limit and what waits for one are shown while pushes are under way")
    func gauges() async throws {
        let peer = try await HTTP2Peer(#"{"streams": 5, "hold": 1.5}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.connectionsPerKey = 1 }) { lane in
            #expect(await lane.metrics.contains(#"livepush_apns_waiting{environment="production"} 0"#))
            // The first answer lets the connection have all its streams.
            #expect(await lane.send(Samples.request(), key: key).status == 200)
            async let outcomes = lane.sendAll(Samples.requests(1..<12), key: key)
            let wanted = [
                #"livepush_apns_connections{environment="production",state="open"} 1"#,
                #"livepush_apns_connections{environment="sandbox",state="open"} 0"#,
                #"livepush_apns_stream_limit{environment="production"} 5"#,
                #"livepush_apns_streams_open{environment="production"} 5"#,
                #"livepush_apns_waiting{environment="production"} 6"#,
            ]
            var metrics: [Substring] = []
            repeat {
                await Task.yield()
                metrics = await lane.metrics
            } while !metrics.contains(wanted[4][...]) && !metrics.contains(answers(12)[...])
            for line in wanted {
                #expect(metrics.contains(line[...]), "\(line) is not in \(metrics)")
            }
            #expect(await outcomes.allSatisfy { $0.status == 200 })
            metrics = await lane.metrics
            #expect(metrics.contains(answers(12)[...]))
            #expect(metrics.contains(#"livepush_apns_request_seconds_count{environment="production"} 12"#))
            #expect(metrics.contains(#"livepush_apns_streams_open{environment="production"} 0"#))
        }
    }

    @Test(
        "An answer is counted by status and reason; what Apple does not list is other",
        arguments: [
            (400, "BadDeviceToken", "400", "BadDeviceToken"), (400, "SomethingNew", "400", "other"),
            (418, "BadDeviceToken", "other", "BadDeviceToken"),
        ]
    )
    func unknownReason(status: Int, reason: String, statusLabel: String, reasonLabel: String) async throws {
        let peer = try await HTTP2Peer(#"{"answers": [[\#(status), "\#(reason)"]]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer) { lane in
            #expect(await lane.send(Samples.request(), key: key).status == status)
            let labels = #"environment="production",status="\#(statusLabel)",reason="\#(reasonLabel)""#
            let metrics = await lane.metrics
            #expect(metrics.contains("livepush_apns_responses_total{\(labels)} 1"), "\(metrics)")
        }
    }

    private func answers(_ count: Int) -> String {
        #"livepush_apns_responses_total{environment="production",status="200",reason=""} \#(count)"#
    }
}
