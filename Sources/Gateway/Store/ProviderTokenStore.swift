public import APNs
public import PostgresClient

/// The SQL of the table `provider_token`: one token for all gateways of a database.
///
/// A token is made only where the table has none that may still be used, and it is written only if the row is still the
/// one that was looked at: of those that make one at the same moment one wins, and the others take its token. While
/// PostgreSQL is away nothing is made.
public final class ProviderTokenStore {
    /// How often another process may win before the caller is told to try again.
    private static let rounds = 5

    private let run: ([PostgresStatement]) async throws(PostgresError) -> [PostgresResult]
    private let seal: SecretSeal
    private let host: String
    private let rules: ProviderTokenRules

    /// For a lane.
    ///
    /// - Parameters:
    ///   - seal: seals the tokens.
    ///   - host: this process, for people.
    ///   - rules: when a token is replaced.
    public init(pool: PostgresPool, seal: SecretSeal, host: String, rules: ProviderTokenRules = ProviderTokenRules()) {
        self.run = { (unit) async throws(PostgresError) in try await pool.run(unit) }
        self.seal = seal
        self.host = host
        self.rules = rules
    }

    /// For a command.
    public init(
        connection: PostgresConnection,
        seal: SecretSeal,
        host: String,
        rules: ProviderTokenRules = ProviderTokenRules(),
    ) {
        self.run = { (unit) async throws(PostgresError) in try await connection.run(unit) }
        self.seal = seal
        self.host = host
        self.rules = rules
    }

    /// The token that all use now; made if there is none, or if the present one may and must be replaced.
    public func token(_ request: ProviderTokenRequest) async -> Result<IssuedProviderToken, ProviderTokenError> {
        do throws(PostgresError) {
            for _ in 0..<ProviderTokenStore.rounds {
                let (now, stored) = try await read(request)
                let decision = ProviderTokenDecision(on: stored, for: request, rules)
                switch decision {
                case .use(let token):
                    return .success(token)
                case .wait:
                    return .failure(
                        .unavailable("it does not open with this master key, and is too young to be replaced")
                    )
                case .mint:
                    let text: String
                    do throws(ProviderTokenError) {
                        text = try ProviderToken.mint(request.key, issuedAt: now)
                    } catch {
                        return .failure(error)
                    }
                    guard let sealed = try? seal.seal(Array(text.utf8), for: owner(of: request)) else {
                        return .failure(.notSigned)
                    }
                    if try await replace(stored, by: sealed, issuedAt: now, request) {
                        return .success(IssuedProviderToken(text: text, issuedAt: now, age: .zero))
                    }
                }
            }
            return .failure(.unavailable("others replace it again and again"))
        } catch {
            return .failure(.unavailable("\(error)"))
        }
    }

    private func read(
        _ request: ProviderTokenRequest
    ) async throws(PostgresError) -> (now: Int64, stored: ProviderTokenDecision.Stored?) {
        let results = try await run([
            PostgresStatement(
                """
                SELECT floor(extract(epoch FROM clock.now))::bigint, stored.token_sealed,
                    extract(epoch FROM stored.issued_at)::bigint,
                    (extract(epoch FROM clock.now - stored.issued_at) * 1000)::bigint
                FROM (SELECT clock_timestamp() AS now) AS clock
                LEFT JOIN provider_token AS stored ON team_id = $1::text AND key_id = $2::text
                    AND environment = $3::text AND key_fingerprint = $4::text
                """,
                identity(of: request),
            )
        ])
        guard let row = results.first?.rows.first else {
            throw PostgresError(.unexpectedResult(column: "(the clock)"))
        }
        guard let sealed = try row.bytesOrNil(1) else { return (try row.integer(0), nil) }
        let text = (try? seal.open(sealed, for: owner(of: request))).map { String(decoding: $0, as: UTF8.self) }
        let stored = ProviderTokenDecision.Stored(
            text: text,
            issuedAt: try row.integer(2),
            age: .milliseconds(try row.integer(3)),
        )
        return (try row.integer(0), stored)
    }

    /// - Returns: whether the row was still as it was read.
    private func replace(
        _ stored: ProviderTokenDecision.Stored?,
        by sealed: [UInt8],
        issuedAt: Int64,
        _ request: ProviderTokenRequest,
    ) async throws(PostgresError) -> Bool {
        let results = try await run([
            PostgresStatement(
                """
                INSERT INTO provider_token AS stored
                    (team_id, key_id, environment, key_fingerprint, token_sealed, issued_at, minted_by)
                VALUES ($1::text, $2::text, $3::text, $4::text, $5::bytea, to_timestamp($6::bigint), $7::text)
                ON CONFLICT (team_id, key_id, environment, key_fingerprint) DO UPDATE SET
                    token_sealed = excluded.token_sealed, issued_at = excluded.issued_at, minted_by = excluded.minted_by
                WHERE stored.issued_at = to_timestamp($8::bigint)
                """,
                identity(of: request) + [
                    .bytes(sealed), .integer(issuedAt), .text(host), .integer(stored?.issuedAt),
                ],
            ),
            PostgresStatement(
                """
                DELETE FROM provider_token WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM provider_token WHERE issued_at < clock_timestamp() - interval '1 day'
                    FOR UPDATE SKIP LOCKED))
                """
            ),
        ])
        return results.first?.affectedRows == 1
    }

    private func identity(of request: ProviderTokenRequest) -> [PostgresParameter] {
        [
            .text(request.key.teamID), .text(request.key.keyID), .text(request.environment.rawValue),
            .text(request.key.publicKeyFingerprint),
        ]
    }

    private func owner(of request: ProviderTokenRequest) -> String {
        SecretOwner.providerToken(
            team: request.key.teamID,
            key: request.key.keyID,
            environment: request.environment.rawValue,
            fingerprint: request.key.publicKeyFingerprint,
        )
    }
}
