import Testing

@testable import Gateway

@Suite("UserSig", .timeLimit(.minutes(5)))
struct UserSigTests {
    // MARK: - What is accepted

    @Test("a signature made by Tencent's generator verifies", arguments: UserSigVector.published)
    func published(vector: UserSigVector) throws {
        let signature = try UserSig(decoding: vector.text)
        #expect(signature.identifier == vector.identifier)
        #expect(signature.sdkAppID == vector.sdkAppID)
        #expect(signature.time == 1_700_000_000)
        #expect(signature.expire == vector.expire)
        #expect(signature.userbuf == vector.userbuf)
        #expect(UserSigBase64.standard.encode(signature.signature) == vector.signature)
        try vector.verify()
    }

    @Test("bytes differ by generator, what they say does not", arguments: UserSigVector.shapes)
    func shapes(vector: UserSigVector) throws {
        try vector.verify()
    }

    @Test("one made here verifies, whatever the identifier", arguments: ["administrator", "用户1", #"a"\/ b"#, "x"])
    func made(identifier: String) throws {
        let text = UserSig.make(
            identifier: identifier,
            sdkAppID: 1_400_000_000,
            secretKey: UserSigVector.keyA,
            expire: 60,
            now: 1_700_000_000,
        )
        try UserSig.verify(
            text,
            identifier: identifier,
            sdkAppID: 1_400_000_000,
            secretKey: UserSigVector.keyA,
            now: 1_700_000_060,
        )
        #expect(text.utf8.allSatisfy { !"+/=".utf8.contains($0) })
        try UserSig(decoding: text).verify(secretKey: UserSigVector.keyA, now: 1_700_000_000)
    }

    @Test("a time that lies in the future is no fault")
    func future() throws {
        try UserSigVector.future.verify(now: 1_700_000_000)
    }

    // MARK: - What is refused

    @Test("A1 for another identifier: 70013")
    func otherIdentifier() {
        expect(.otherIdentifier, 70013) { () throws(UserSigError) in
            try UserSigVector.a1.verify(identifier: "alice")
        }
    }

    @Test("an identifier that only looks the same is another one")
    func canonicallyEquivalentIdentifier() {
        let text = UserSig.make(identifier: "\u{E9}", sdkAppID: 1, secretKey: [1], expire: 60, now: 0)
        expect(.otherIdentifier, 70013) { () throws(UserSigError) in
            try UserSig.verify(text, identifier: "e\u{301}", sdkAppID: 1, secretKey: [1], now: 0)
        }
    }

    @Test("A1 for another app: 70014, also where the identifier is another one as well")
    func otherApplication() {
        expect(.otherApplication, 70014) { () throws(UserSigError) in
            try UserSigVector.a1.verify(sdkAppID: 1_400_000_001)
        }
        expect(.otherApplication, 70014) { () throws(UserSigError) in
            try UserSigVector.a1.verify(identifier: "alice", sdkAppID: 1_400_000_001)
        }
    }

    @Test("A1 under key B: 70009")
    func otherKey() {
        expect(.wrongSignature, 70009) { () throws(UserSigError) in
            try UserSigVector.a1.verify(secretKey: UserSigVector.keyB)
        }
    }

    @Test("the key's hex digits are text: the bytes they stand for are another key")
    func decodedKey() {
        let decoded: [UInt8] = (0..<4).flatMap { _ in [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF] as [UInt8] }
        expect(.wrongSignature, 70009) { () throws(UserSigError) in
            try UserSigVector.a1.verify(secretKey: decoded)
        }
    }

    @Test("A1 holds in its last second and not in the next: 70001")
    func expired() throws {
        try UserSigVector.a1.verify(now: 1_700_604_800)
        expect(.expired, 70001) { () throws(UserSigError) in
            try UserSigVector.a1.verify(now: 1_700_604_801)
        }
    }

    @Test("A1 cut short anywhere: 70003")
    func truncated() {
        for count in 1..<UserSigVector.a1.text.count {
            #expect(throws: UserSigError.malformed, "\(count) characters") {
                try UserSig(decoding: String(UserSigVector.a1.text.prefix(count)))
            }
        }
    }

    @Test("none: 70002")
    func empty() {
        expect(.empty, 70002) { () throws(UserSigError) in
            _ = try UserSig(decoding: "")
        }
    }

    @Test("what is not one, or asks for too much: 70003", arguments: UserSigVector.malformed)
    func malformed(name: String, text: String) {
        expect(.malformed, 70003) { () throws(UserSigError) in
            _ = try UserSig(decoding: text)
        }
    }

    @Test("a plus, a slash, an equals sign or a blank cannot occur: 70003", arguments: ["+", "/", "=", " "])
    func standardAlphabet(character: String) {
        let text = UserSigVector.a1.text
        expect(.malformed, 70003) { () throws(UserSigError) in
            _ = try UserSig(decoding: text.prefix(8) + character + text.dropFirst(9))
        }
    }

    @Test("an end beyond 64 bits never comes")
    func overflow() {
        #expect(throws: Never.self) { try UserSigVector.overflow.verify() }
    }

    private func expect(_ error: UserSigError, _ code: Int, _ body: () throws(UserSigError) -> Void) {
        #expect(throws: error, performing: body)
        #expect(error.code == code)
        #expect(!error.message.isEmpty)
    }
}
