import Testing

@testable import struct APNs.StreamLimit

@Suite(.timeLimit(.minutes(5)))
struct StreamLimitTests {
    @Test("C26: no stream before the first SETTINGS, one until the first answer")
    func start() {
        var limit = StreamLimit(ceiling: 500)
        #expect(limit.value == 0)
        limit.settingsReceived(maximumStreams: 1000, lastStream: 1)
        #expect(limit.value == 1)
        limit.requestAnswered()
        #expect(limit.value == 500)
    }

    @Test("C27, C28: every SETTINGS counts, down, to nothing and up again")
    func changes() {
        var limit = StreamLimit(ceiling: 1000)
        limit.requestAnswered()
        for maximum in [100, 7, 1, 0, 1000] {
            limit.settingsReceived(maximumStreams: maximum, lastStream: 1)
            #expect(limit.value == maximum)
        }
    }

    @Test("A peer that allows no stream gets none, though nothing was answered yet")
    func zeroAtFirst() {
        var limit = StreamLimit(ceiling: 1000)
        limit.settingsReceived(maximumStreams: 0, lastStream: 0)
        #expect(limit.value == 0)
    }

    @Test("C8: refusals that a lowered limit explains are no reason to leave the connection")
    func refusals() {
        var limit = StreamLimit(ceiling: 1000)
        limit.settingsReceived(maximumStreams: 1000, lastStream: 1)
        limit.requestAnswered()
        limit.settingsReceived(maximumStreams: 1, lastStream: 41)
        #expect(!limit.isRefusalUnfounded(of: 23))
        #expect(!limit.isRefusalUnfounded(of: 41))
        #expect(limit.isRefusalUnfounded(of: 43))
        limit.settingsReceived(maximumStreams: 1000, lastStream: 51)
        #expect(limit.isRefusalUnfounded(of: 51))
    }
}
