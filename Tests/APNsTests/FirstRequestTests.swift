import APNs
import Testing

@Suite("A silent first request", .timeLimit(.minutes(5)))
struct FirstRequestTests {
    @Test("C23: silence about the first push of a connection does not take the others with it")
    func silentFirst() async throws {
        let peer = try await HTTP2Peer(#"{"silentTokens":["\#(Samples.token(0))"]}"#)
        let key = try Samples.key()
        try await TestLane.with(peer, configure: { $0.requestTimeout = .seconds(4) }) { lane in
            let outcomes = await lane.sendAll(Samples.requests(0..<20), key: key)
            #expect(outcomes.dropFirst().allSatisfy { $0.status == 200 }, "\(outcomes)")
        }
    }
}
