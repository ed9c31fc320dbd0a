public import EventLoop
import Glibc
import Synchronization

/// The provider tokens that a process has, one for each (team, key, environment), shared by all lanes and connections.
///
/// A token is got when it is first needed, serves for 50 minutes, and is never replaced within 20 minutes, whatever APNs
/// answers: more would be answered 429 TooManyProviderTokenUpdates. May be called from any thread.
public final class ProviderTokenCache: Sendable {
    /// A token as requests carry it.
    struct Token: Sendable, Equatable {
        /// The value of `authorization`.
        let authorization: [UInt8]
    }

    /// What the cache has to say before a request.
    struct Answer: Sendable {
        /// nil: there is none that may be sent.
        let token: Token?
        /// To be asked for now; nil: nothing to do.
        let request: ProviderTokenRequest?
    }

    private struct Identity: Hashable {
        let key: APNsSigningKey
        let environment: APNsEnvironment
    }

    private struct Entry {
        let token: Token
        /// Its `iat`, by the clock of whoever made it.
        let issuedAt: Int64
        let lifetime: ProviderTokenLifetime
        /// APNs called it expired.
        var wasRefused = false
    }

    private let entries = Mutex<[Identity: Entry]>([:])
    private let rules: ProviderTokenRules
    private let unixSeconds: @Sendable () -> Int64
    private let monotonic: @Sendable () -> MonotonicTime

    /// - Parameters:
    ///   - rules: when tokens are replaced.
    ///   - unixSeconds: the wall clock; APNs allows it to be an hour off.
    ///   - monotonic: the clock that ages are measured with.
    public init(
        rules: ProviderTokenRules = ProviderTokenRules(),
        unixSeconds: @escaping @Sendable () -> Int64 = ProviderTokenCache.systemTime,
        monotonic: @escaping @Sendable () -> MonotonicTime = { .now },
    ) {
        self.rules = rules
        self.unixSeconds = unixSeconds
        self.monotonic = monotonic
    }

    /// Seconds since 1970 by the system's clock.
    public static let systemTime: @Sendable () -> Int64 = { Int64(Glibc.time(nil)) }

    /// The token to send now, and whether one is to be got.
    func lookUp(_ key: APNsSigningKey, in environment: APNsEnvironment) -> Answer {
        let (seconds, now) = (unixSeconds(), monotonic())
        let entry = entries.withLock { $0[Identity(key: key, environment: environment)] }
        guard let entry else {
            return Answer(token: nil, request: ProviderTokenRequest(key: key, environment: environment))
        }
        let lifetime = entry.lifetime
        guard entry.wasRefused || lifetime.isOver(unixSeconds: seconds, monotonic: now) else {
            return Answer(token: entry.token, request: nil)
        }
        let isUsable = !entry.wasRefused && lifetime.isUsable(unixSeconds: seconds, monotonic: now)
        let known = ProviderTokenRequest.Known(
            issuedAt: entry.issuedAt,
            age: now - lifetime.mintedAt,
            wasRefused: entry.wasRefused,
        )
        return Answer(
            token: isUsable ? entry.token : nil,
            request: ProviderTokenRequest(key: key, environment: environment, known: known),
        )
    }

    /// Keeps the answer to a request.
    func store(_ issued: IssuedProviderToken, for request: ProviderTokenRequest) {
        let (seconds, now) = (unixSeconds(), monotonic())
        let token = Token(authorization: Array("bearer \(issued.text)".utf8))
        entries.withLock { entries in
            let identity = Identity(key: request.key, environment: request.environment)
            // A clock elsewhere that was stepped makes no token older or younger that is here already.
            let known = entries[identity].flatMap { $0.token == token ? now - $0.lifetime.mintedAt : nil }
            let age = known ?? max(.zero, issued.age)
            let (issuedAt, overflow) = seconds.subtractingReportingOverflow(age.components.seconds)
            // Those of removed keys. Younger ones stay: a key that comes back must not be given a second token.
            entries = entries.filter { now - $0.value.lifetime.mintedAt < .seconds(3600) }
            entries[identity] = Entry(
                token: token,
                issuedAt: issued.issuedAt,
                lifetime: ProviderTokenLifetime(
                    issuedAt: overflow ? seconds : issuedAt,
                    mintedAt: now + (.zero - age),
                    rules: rules,
                ),
            )
        }
    }

    /// How old the oldest token that may be sent is, for each environment in which there is one.
    public var oldestAges: [APNsEnvironment: Duration] {
        let (seconds, now) = (unixSeconds(), monotonic())
        var ages: [APNsEnvironment: Duration] = [:]
        for (identity, entry) in entries.withLock({ $0 })
        where !entry.wasRefused && entry.lifetime.isUsable(unixSeconds: seconds, monotonic: now) {
            ages[identity.environment] = max(ages[identity.environment] ?? .zero, now - entry.lifetime.mintedAt)
        }
        return ages
    }

    /// To be told when APNs called `token` expired.
    ///
    /// - Returns: whether there is another one to try: it was replaced meanwhile, or it is old enough to be. Where
    ///   not, a fresh token was refused: the clock is wrong, or the key.
    func reject(_ token: Token, of key: APNsSigningKey, in environment: APNsEnvironment) -> Bool {
        let now = monotonic()
        return entries.withLock { entries in
            let identity = Identity(key: key, environment: environment)
            guard let entry = entries[identity], entry.token == token else { return true }
            guard entry.lifetime.mayBeReplaced(at: now) else { return false }
            entries[identity]?.wasRefused = true
            return true
        }
    }

    /// Makes the token here, for a process that sends alone.
    func mint(_ request: ProviderTokenRequest) throws(ProviderTokenError) -> IssuedProviderToken {
        let seconds = unixSeconds()
        let text = try ProviderToken.mint(request.key, issuedAt: seconds)
        return IssuedProviderToken(text: text, issuedAt: seconds, age: .zero)
    }
}
