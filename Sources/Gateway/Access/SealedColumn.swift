/// A column that holds sealed secrets. ``all`` is the one list of them: what stands there is sealed anew when the master
/// key changes.
struct SealedColumn: Sendable {
    /// Identifiers of the program, never a user's.
    let table: StaticString
    let column: StaticString
    /// The primary key, of types whose text tells values apart.
    let keys: [StaticString]
    /// What a row's secret is bound to, from the values of ``keys``.
    let owner: @Sendable ([String]) -> String
    /// The row for people, from the values of ``keys``.
    let name: @Sendable ([String]) -> String

    static let all = [
        SealedColumn(
            table: "app",
            column: "secret_key_sealed",
            keys: ["sdk_app_id"],
            owner: { SecretOwner.application($0[0]) },
            name: { "the secret key of app \($0[0])" },
        ),
        SealedColumn(
            table: "certificate",
            column: "private_key_sealed",
            keys: ["sdk_app_id", "business_id"],
            owner: { SecretOwner.certificate($0[0], $0[1]) },
            name: { "the private key of certificate \($0[1]) of app \($0[0])" },
        ),
        SealedColumn(
            table: "provider_token",
            column: "token_sealed",
            keys: ["team_id", "key_id", "environment", "key_fingerprint"],
            owner: { SecretOwner.providerToken(team: $0[0], key: $0[1], environment: $0[2], fingerprint: $0[3]) },
            name: { "the provider token of key \($0[1]) of team \($0[0]) in \($0[2])" },
        ),
    ]
}
