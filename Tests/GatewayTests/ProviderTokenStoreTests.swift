import APNs
import TestSupport
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(5)))
struct ProviderTokenStoreTests {
    private static func seal(_ byte: Int = 0) throws -> SecretSeal {
        let keys = [
            "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=",
        ]
        return SecretSeal(masterKey: try MasterKey(base64: keys[byte]))
    }

    /// Asks so often at once.
    private static func race(
        _ count: Int,
        _ request: ProviderTokenRequest,
        _ database: StoreDatabase,
        on lane: isolated LoopActor,
    ) async throws -> [IssuedProviderToken] {
        let seal = try seal()
        let tasks = (0..<count).map { number in
            let store = ProviderTokenStore(pool: database.pool, seal: seal, host: "host/\(number)")
            return Task {
                _ = lane
                return await store.token(request)
            }
        }
        var tokens: [IssuedProviderToken] = []
        for task in tasks {
            tokens.append(try await task.value.get())
        }
        return tokens
    }

    @Test("C2: fifty that need a token at the same moment get the same, at first and after 51 minutes")
    func oneForAll() async throws {
        let request = ProviderTokenRequest(key: try Fixture.key(), environment: .production)
        try await StoreDatabase.run(connections: 8) { lane, database in
            let first = try await Self.race(50, request, database, on: lane)
            #expect(Set(first.map(\.text)).count == 1)
            #expect(try database.sql("SELECT count(*), count(DISTINCT minted_by) FROM provider_token") == "1|1")
            #expect(try database.sql("SELECT token_sealed LIKE '%eyJ%' FROM provider_token") == "f")

            try database.sql("UPDATE provider_token SET issued_at = issued_at - interval '49 minutes'")
            let kept = try await Self.race(5, request, database, on: lane)
            #expect(Set(kept.map(\.text)) == Set(first.map(\.text)))
            #expect(kept.allSatisfy { $0.age >= .seconds(49 * 60) })

            try database.sql("UPDATE provider_token SET issued_at = issued_at - interval '2 minutes'")
            // In another second, since iat is whole seconds.
            try await Task.sleep(for: .seconds(1))
            let second = try await Self.race(50, request, database, on: lane)
            #expect(Set(second.map(\.text)).count == 1)
            #expect(Set(second.map(\.text)).isDisjoint(with: first.map(\.text)))
            #expect(second.allSatisfy { $0.age < .seconds(30) })
        }
    }

    @Test("Environments, and another .p8 under the same ids, have tokens of their own")
    func identities() async throws {
        let key = try Fixture.key()
        let generate = ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        let other = try APNsSigningKey(
            privateKey: Array(try ChildProcess.run("openssl", generate).output.utf8),
            teamID: key.teamID,
            keyID: key.keyID,
        )
        try await StoreDatabase.run { lane, database in
            var texts: Set<String> = []
            for request in [
                ProviderTokenRequest(key: key, environment: .production),
                ProviderTokenRequest(key: key, environment: .sandbox),
                ProviderTokenRequest(key: other, environment: .sandbox),
            ] {
                texts.formUnion(try await Self.race(2, request, database, on: lane).map(\.text))
            }
            #expect(texts.count == 3)
            #expect(try database.sql("SELECT count(*) FROM provider_token") == "3")
        }
    }

    @Test("Under another master key nothing is made for 20 minutes")
    func otherMasterKey() async throws {
        let request = ProviderTokenRequest(key: try Fixture.key(), environment: .production)
        try await StoreDatabase.run { lane, database in
            let first = try await Self.race(1, request, database, on: lane)
            let stranger = ProviderTokenStore(pool: database.pool, seal: try Self.seal(1), host: "other/1")
            guard case .failure(.unavailable) = await stranger.token(request) else {
                Issue.record("a second token was made")
                return
            }
            try database.sql("UPDATE provider_token SET issued_at = issued_at - interval '21 minutes'")
            let second = try await stranger.token(request).get()
            #expect(second.text != first[0].text)
        }
    }

    @Test("While PostgreSQL refuses, nothing is made")
    func databaseRefuses() async throws {
        let request = ProviderTokenRequest(key: try Fixture.key(), environment: .production)
        try await StoreDatabase.run { lane, database in
            try database.sql("ALTER TABLE provider_token RENAME TO elsewhere")
            let store = ProviderTokenStore(pool: database.pool, seal: try Self.seal(), host: "host/1")
            let answer = await store.token(request)
            try database.sql("ALTER TABLE elsewhere RENAME TO provider_token")
            guard case .failure(.unavailable) = answer else {
                Issue.record("a token was made")
                return
            }
            #expect(try await store.token(request).get().age == .zero)
        }
    }
}
