/// The tokens a test has declared. Other tokens are known in both environments and for every topic.
struct TokenTable {
    private var tokens: [DeviceToken: DeclaredToken] = [:]

    /// Tokens that fit.
    static let capacity = 100_000

    subscript(token: DeviceToken) -> DeclaredToken? {
        tokens[token]
    }

    /// Declares a token, or replaces what was declared.
    ///
    /// - Returns: false if the table is full.
    mutating func declare(_ token: DeviceToken, _ declaration: DeclaredToken) -> Bool {
        guard tokens[token] != nil || tokens.count < TokenTable.capacity else { return false }
        tokens[token] = declaration
        return true
    }

    /// Takes one use of the token's behaviour.
    mutating func takeOutcome(of token: DeviceToken) -> DeclaredToken.Outcome? {
        guard let behaviour = tokens[token]?.behaviour else { return nil }
        guard let remaining = behaviour.remaining else { return behaviour.outcome }
        guard remaining > 0 else { return nil }
        tokens[token]?.behaviour?.remaining = remaining - 1
        return behaviour.outcome
    }

    /// The tokens that were declared with a phone, in the same order each time.
    var ofPhones: [(token: DeviceToken, declaration: DeclaredToken)] {
        tokens.filter { $0.value.phone != nil }
            .sorted { $0.key.hexadecimal < $1.key.hexadecimal }
            .map { (token: $0.key, declaration: $0.value) }
    }

    /// The tokens of activities that follow a channel, in the same order each time.
    func followers(
        of channel: String,
        in environment: APNsEnvironment,
        _ topic: PushTopic,
    ) -> [(token: DeviceToken, declaration: DeclaredToken)] {
        tokens.filter { _, declaration in
            declaration.channel == channel && declaration.environments.contains(environment)
                && declaration.belongs(to: topic)
        }
        .sorted { $0.key.hexadecimal < $1.key.hexadecimal }
        .map { (token: $0.key, declaration: $0.value) }
    }

    /// Forgets every declaration.
    mutating func removeAll() {
        tokens.removeAll()
    }
}
