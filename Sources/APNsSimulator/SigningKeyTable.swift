/// The keys that the simulator knows.
struct SigningKeyTable {
    private var keys: [String: SigningKey] = [:]

    /// Keys that fit; Apple allows a team few, and a test needs few.
    static let capacity = 1000

    /// Adds a key, or replaces the one of the same ID.
    ///
    /// - Returns: false if the table is full.
    mutating func register(_ key: SigningKey) -> Bool {
        guard keys[key.keyID] != nil || keys.count < SigningKeyTable.capacity else { return false }
        keys[key.keyID] = key
        return true
    }

    /// - Throws: 403 InvalidProviderToken for an unknown key, another team's, or a wrong signature; 403
    ///   BadEnvironmentKeyInToken for a key of the other environment (Apple's page spells it
    ///   BadEnvironmentKeyIdInToken; several senders report this spelling on the wire). Nothing while no key is
    ///   registered.
    func verify(_ token: ProviderToken, environment: APNsEnvironment) throws(Refusal) {
        guard !keys.isEmpty else { return }
        guard
            let key = keys[token.keyID],
            key.teamID == token.teamID,
            key.verifies(token.signature, of: token.signedText)
        else { throw Refusal(403, "InvalidProviderToken") }
        guard key.environment == nil || key.environment == environment else {
            throw Refusal(403, "BadEnvironmentKeyInToken")
        }
    }

    /// - Throws: 400 TopicDisallowed if the key is bound to topics and this is none of them.
    func authorize(_ token: ProviderToken, bundleID: String) throws(Refusal) {
        guard let bundleIDs = keys[token.keyID]?.bundleIDs else { return }
        guard bundleIDs.contains(bundleID) else { throw Refusal(400, "TopicDisallowed") }
    }
}
