import Testing

@testable import Gateway

@Suite("Remembered UserSigs", .timeLimit(.minutes(5)))
struct UserSigCacheTests {
    private static let secretKey = Array("5bd2850fff3ecb11d7c805251c51ee463a25727bddc2385f3fa8bfee1bb93b5e".utf8)
    private static let now: Int64 = 1_790_000_000

    private let signature = UserSig.make(
        identifier: "administrator",
        sdkAppID: 1,
        secretKey: secretKey,
        expire: 60,
        now: now,
    )
    private var cache = UserSigCache()

    /// Remembers the good one.
    init() throws {
        try verify()
    }

    private mutating func verify(
        _ signature: String? = nil,
        identifier: String = "administrator",
        sdkAppID: Int64 = 1,
        secretKey: [UInt8] = secretKey,
        now: Int64 = now,
    ) throws(UserSigError) {
        try cache.verify(
            signature ?? self.signature,
            identifier: identifier,
            sdkAppID: sdkAppID,
            secretKey: secretKey,
            now: now,
        )
    }

    @Test("A remembered UserSig is good again until it expires")
    mutating func isGoodUntilItExpires() throws {
        try verify()
        try verify(now: Self.now + 60)
        #expect(throws: UserSigError.expired) { try verify(now: Self.now + 61) }
        try verify()
    }

    @Test("What differs from what was remembered is checked anew")
    mutating func othersAreChecked() {
        #expect(throws: UserSigError.otherIdentifier) { try verify(identifier: "alice") }
        #expect(throws: UserSigError.otherApplication) { try verify(sdkAppID: 2) }
        #expect(throws: UserSigError.wrongSignature) { try verify(secretKey: Array("another".utf8)) }
    }

    @Test("A text that only looks like a remembered one is another")
    mutating func looksAreNotEnough() throws {
        // The Kelvin sign, which Swift's == takes for a K.
        let name = "K"
        let signature = UserSig.make(identifier: name, sdkAppID: 1, secretKey: Self.secretKey, now: Self.now)
        try verify(signature, identifier: name)
        #expect(throws: UserSigError.otherIdentifier) { try verify(signature, identifier: "\u{212A}") }
    }

    @Test("A refused UserSig is refused again")
    mutating func refusedStaysRefused() {
        let forged = UserSig.make(identifier: "administrator", sdkAppID: 1, secretKey: [1], now: Self.now)
        for _ in 0..<2 {
            #expect(throws: UserSigError.wrongSignature) { try verify(forged) }
        }
    }

    @Test("Many of them do not stay for ever")
    mutating func isBounded() throws {
        for number in 0..<1000 {
            let name = "account-\(number)"
            let signature = UserSig.make(identifier: name, sdkAppID: 1, secretKey: Self.secretKey, now: Self.now)
            try verify(signature, identifier: name)
            try verify(signature, identifier: name)
        }
        try verify()
    }
}
