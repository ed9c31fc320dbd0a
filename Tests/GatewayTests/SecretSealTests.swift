import Testing

@testable import Gateway

@Suite("Sealed secrets", .timeLimit(.minutes(5)))
struct SecretSealTests {
    private static let keyText = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let otherText = "AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let secret = Array("5bd2850fff3ecb11d7c805251c51ee463a25727bddc2385f3fa8bfee1bb93b5e".utf8)

    @Test("a secret opens for its owner", arguments: [secret, [0], []])
    func roundTrip(secret: [UInt8]) throws {
        let seal = try Self.seal(Self.keyText)
        let sealed = try seal.seal(secret, for: "app/1400000000")
        #expect(try seal.open(sealed, for: "app/1400000000") == secret)
        #expect(sealed.count == secret.count + 29)
    }

    @Test("one secret sealed twice looks different, and shows nothing of itself")
    func nonce() throws {
        let seal = try Self.seal(Self.keyText)
        let first = try seal.seal(Self.secret, for: "a")
        #expect(try seal.seal(Self.secret, for: "a") != first)
        #expect(!first.contains(Self.secret.prefix(8)))
    }

    @Test(
        "a secret does not open for another owner, so that no row can borrow another's",
        arguments: ["app/2", "", "app/1400000000 "]
    )
    func otherOwner(owner: String) throws {
        let seal = try Self.seal(Self.keyText)
        let sealed = try seal.seal(Self.secret, for: "app/1400000000")
        #expect(throws: SecretSealError.sealed) { _ = try seal.open(sealed, for: owner) }
    }

    @Test("a secret does not open under another master key")
    func otherKey() throws {
        let sealed = try Self.seal(Self.keyText).seal(Self.secret, for: "a")
        let other = try Self.seal(Self.otherText)
        #expect(throws: SecretSealError.sealed) { _ = try other.open(sealed, for: "a") }
    }

    @Test("one changed byte anywhere is seen")
    func damaged() throws {
        let seal = try Self.seal(Self.keyText)
        let sealed = try seal.seal(Self.secret, for: "a")
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 1
            #expect(throws: SecretSealError.sealed) { _ = try seal.open(damaged, for: "a") }
        }
    }

    @Test("a cut secret is refused, whatever is left", arguments: [0, 1, 28, 29, 92])
    func cut(count: Int) throws {
        let seal = try Self.seal(Self.keyText)
        let sealed = try seal.seal(Self.secret, for: "a")
        #expect(throws: SecretSealError.sealed) { _ = try seal.open(Array(sealed.prefix(count)), for: "a") }
    }

    @Test("a master key is read with the white space that files and shells add", arguments: ["\n", "\r\n", " \t\n"])
    func whiteSpace(space: String) throws {
        let sealed = try Self.seal(Self.keyText).seal(Self.secret, for: "a")
        let seal = try Self.seal(space + Self.keyText + space)
        #expect(try seal.open(sealed, for: "a") == Self.secret)
    }

    @Test(
        "what is not 32 bytes of base64 is no master key",
        arguments: [
            "", "x", "AAECAwQFBgcICQoLDA0ODw==", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ==", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g",
            "!AECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
            "AAEC=wQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "-_ECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        ],
    )
    func badMasterKey(text: String) {
        #expect(throws: SecretSealError.masterKey(variable: "LIVEPUSH_NEW_MASTER_KEY")) {
            _ = try MasterKey(base64: text, variable: "LIVEPUSH_NEW_MASTER_KEY")
        }
    }

    @Test("what the previous key sealed opens, and is sealed anew under the first; a third key opens nothing")
    func previousKey() throws {
        let former = try Self.seal(Self.otherText)
        let both = try Self.seal(Self.keyText, previous: Self.otherText)
        let only = try Self.seal(Self.keyText)
        let sealed = try former.seal(Self.secret, for: "a")
        #expect(try both.open(sealed, for: "a") == Self.secret)
        #expect(throws: SecretSealError.sealed) { _ = try both.open(sealed, for: "b") }

        let resealed = try #require(try both.resealed(sealed, for: "a"))
        #expect(try only.open(resealed, for: "a") == Self.secret)
        #expect(throws: SecretSealError.sealed) { _ = try former.open(resealed, for: "a") }
        #expect(try both.resealed(resealed, for: "a") == nil)
        #expect(throws: SecretSealError.sealed) { _ = try only.resealed(sealed, for: "a") }
        #expect(try only.open(try both.seal(Self.secret, for: "a"), for: "a") == Self.secret)
    }

    @Test("no error and no description shows a byte of key or secret")
    func description() throws {
        let errors: [SecretSealError] = [.masterKey(variable: "LIVEPUSH_MASTER_KEY"), .sealed, .cipher]
        #expect(errors.allSatisfy { !$0.description.contains(Self.keyText) })
        #expect("\(try MasterKey(base64: Self.keyText))" == "master key")
        #expect(String(reflecting: try Self.seal(Self.keyText)).contains("1, 2") == false)
    }

    private static func seal(_ key: String, previous: String? = nil) throws -> SecretSeal {
        SecretSeal(masterKey: try MasterKey(base64: key), previous: try previous.map { try MasterKey(base64: $0) })
    }
}
