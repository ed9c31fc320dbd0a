import Testing

@testable import Gateway

@Suite("Sealed secrets", .timeLimit(.minutes(1)))
struct SecretSealTests {
    private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let otherKey = "AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let secret = Array("5bd2850fff3ecb11d7c805251c51ee463a25727bddc2385f3fa8bfee1bb93b5e".utf8)

    @Test("a secret opens for its owner", arguments: [secret, [0], []])
    func roundTrip(secret: [UInt8]) throws {
        let seal = try SecretSeal(masterKey: Self.masterKey)
        let sealed = try seal.seal(secret, for: "app/1400000000")
        #expect(try seal.open(sealed, for: "app/1400000000") == secret)
        #expect(sealed.count == secret.count + 29)
    }

    @Test("one secret sealed twice looks different, and shows nothing of itself")
    func nonce() throws {
        let seal = try SecretSeal(masterKey: Self.masterKey)
        let first = try seal.seal(Self.secret, for: "a")
        #expect(try seal.seal(Self.secret, for: "a") != first)
        #expect(!first.contains(Self.secret.prefix(8)))
    }

    @Test(
        "a secret does not open for another owner, so that no row can borrow another's",
        arguments: ["app/2", "", "app/1400000000 "]
    )
    func otherOwner(owner: String) throws {
        let seal = try SecretSeal(masterKey: Self.masterKey)
        let sealed = try seal.seal(Self.secret, for: "app/1400000000")
        #expect(throws: SecretSealError.sealed) { _ = try seal.open(sealed, for: owner) }
    }

    @Test("a secret does not open under another master key")
    func otherKey() throws {
        let sealed = try SecretSeal(masterKey: Self.masterKey).seal(Self.secret, for: "a")
        let other = try SecretSeal(masterKey: Self.otherKey)
        #expect(throws: SecretSealError.sealed) { _ = try other.open(sealed, for: "a") }
    }

    @Test("one changed byte anywhere is seen")
    func damaged() throws {
        let seal = try SecretSeal(masterKey: Self.masterKey)
        let sealed = try seal.seal(Self.secret, for: "a")
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 1
            #expect(throws: SecretSealError.sealed) { _ = try seal.open(damaged, for: "a") }
        }
    }

    @Test("a cut secret is refused, whatever is left", arguments: [0, 1, 28, 29, 92])
    func cut(count: Int) throws {
        let seal = try SecretSeal(masterKey: Self.masterKey)
        let sealed = try seal.seal(Self.secret, for: "a")
        #expect(throws: SecretSealError.sealed) { _ = try seal.open(Array(sealed.prefix(count)), for: "a") }
    }

    @Test("a master key is read with the white space that files and shells add", arguments: ["\n", "\r\n", " \t\n"])
    func whiteSpace(space: String) throws {
        let sealed = try SecretSeal(masterKey: Self.masterKey).seal(Self.secret, for: "a")
        let seal = try SecretSeal(masterKey: space + Self.masterKey + space)
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
        #expect(throws: SecretSealError.masterKey) { _ = try SecretSeal(masterKey: text) }
    }

    @Test("no error shows a byte of key or secret", arguments: [SecretSealError.masterKey, .sealed, .cipher])
    func description(error: SecretSealError) {
        #expect(!error.description.contains(Self.masterKey))
    }
}
