import Testing

@testable import Gateway

@Suite("Equal requests of one transaction", .timeLimit(.minutes(5)))
struct AcceptBatchTests {
    private static func digest(_ number: Int64) -> RequestDigest {
        RequestDigest { $0.add(number) }
    }

    private static func acceptance(_ id: Int64, isRepeat: Bool = false) -> Acceptance {
        Acceptance(
            message: AcceptedMessage(id: id, acceptedAt: Fixture.accepted),
            messageKey: "key-\(id)",
            isRepeat: isRepeat,
        )
    }

    @Test("the first of each stands for those after it; requests without a digest are never equal")
    func folding() {
        let batch = AcceptBatch([Self.digest(1), nil, Self.digest(2), Self.digest(1), nil, Self.digest(1)])
        #expect(batch.firsts == [0, 1, 2, 4])
        #expect(batch.repeats == [2, 0, 0, 0])
        let answers = batch.answers([1, 2, 3, 4].map { Self.acceptance($0) })
        #expect(answers.map(\.message.id) == [1, 2, 3, 1, 4, 1])
        #expect(answers.map(\.isRepeat) == [false, false, false, true, false, true])
        #expect(answers.map(\.messageKey) == ["key-1", "key-2", "key-3", "key-1", "key-4", "key-1"])
    }

    @Test("where the first is a repeat of what was accepted before, so are all")
    func knownBefore() {
        let batch = AcceptBatch([Self.digest(1), Self.digest(1)])
        let answers = batch.answers([Self.acceptance(7, isRepeat: true)])
        #expect(answers == [Self.acceptance(7, isRepeat: true), Self.acceptance(7, isRepeat: true)])
    }
}
