/// What one connection remembers of its provider tokens, and what it therefore refuses.
///
/// The first accepted token fixes team and key. Apple: "Establishing a token-based connection to APNs".
struct ProviderTokenPolicy {
    private enum State {
        /// Nothing was accepted yet. Exits: accepted, expired.
        case fresh
        /// One token is in use since that time. Exits: accepted (a later token), exhausted, expired.
        case accepted(ProviderToken, since: UnixTime)
        /// Too many tokens came; APNs refuses every push until enough time has passed (Apple Developer Forums 675879).
        /// Exits: accepted, once the time is over.
        case exhausted(ProviderToken, since: UnixTime)
        /// An expired token came. APNs has been seen to refuse everything on such a connection from then on, so that a
        /// client must open another. No exit.
        case expired
    }

    /// A token may be replaced this long after the last one, not earlier.
    static let shortestUse: Int64 = 20 * 60 * 1000
    /// How far `iat` may be from the time of the push, in seconds.
    static let longestUse: Double = 60 * 60

    private var state = State.fresh

    /// Decides on the token of one push.
    ///
    /// - Parameters:
    ///   - token: of that push.
    ///   - keys: the registered keys. Without any, the shape of a token is checked and its signature is not.
    mutating func admit(
        _ token: ProviderToken,
        keys: SigningKeyTable,
        environment: APNsEnvironment,
        time: UnixTime,
    ) throws(Refusal) {
        if case .expired = state { throw Refusal(403, "ExpiredProviderToken") }
        if token.text != current?.text {
            try keys.verify(token, environment: environment)
        }
        guard token.issuedAt <= time.seconds + ProviderTokenPolicy.longestUse else {
            throw Refusal(403, "InvalidProviderToken")
        }
        guard token.issuedAt >= time.seconds - ProviderTokenPolicy.longestUse else {
            state = .expired
            throw Refusal(403, "ExpiredProviderToken")
        }
        switch state {
        case .expired:
            throw Refusal(403, "ExpiredProviderToken")
        case .fresh:
            state = .accepted(token, since: time)
        case .accepted(let current, let since), .exhausted(let current, let since):
            guard token.teamID == current.teamID else { throw Refusal(403, "InvalidProviderToken") }
            guard token.keyID == current.keyID else { throw Refusal(403, "UnrelatedKeyIdInToken") }
            let isEarly = time.milliseconds - since.milliseconds < ProviderTokenPolicy.shortestUse
            if isEarly, token.text != current.text || isExhausted {
                state = .exhausted(current, since: since)
                throw Refusal(429, "TooManyProviderTokenUpdates")
            }
            state = .accepted(token, since: token.text == current.text ? since : time)
        }
    }

    /// The token in use; its signature needs no second look.
    private var current: ProviderToken? {
        switch state {
        case .fresh, .expired: nil
        case .accepted(let token, _), .exhausted(let token, _): token
        }
    }

    private var isExhausted: Bool {
        if case .exhausted = state { true } else { false }
    }
}
