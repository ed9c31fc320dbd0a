public import EventLoop
import Glibc
import Synchronization

/// The provider tokens of a process, one for each (team, key, environment), shared by all lanes and connections.
///
/// A token is minted when it is first needed, serves for 50 minutes, and is never replaced within 20 minutes, whatever
/// APNs answers: more would be answered 429 TooManyProviderTokenUpdates. May be called from any thread.
public final class ProviderTokenCache: Sendable {
    /// A token as requests carry it.
    struct Token: Sendable, Equatable {
        /// The value of `authorization`.
        let authorization: [UInt8]
    }

    private struct Identity: Hashable {
        let key: APNsSigningKey
        let environment: APNsEnvironment
    }

    private struct Entry {
        let token: Token
        let lifetime: ProviderTokenLifetime
    }

    private let entries = Mutex<[Identity: Entry]>([:])
    private let unixSeconds: @Sendable () -> Int64
    private let monotonic: @Sendable () -> MonotonicTime

    /// - Parameters:
    ///   - unixSeconds: the wall clock; APNs allows it to be an hour off.
    ///   - monotonic: the clock that ages are measured with.
    public init(
        unixSeconds: @escaping @Sendable () -> Int64 = ProviderTokenCache.systemTime,
        monotonic: @escaping @Sendable () -> MonotonicTime = { .now },
    ) {
        self.unixSeconds = unixSeconds
        self.monotonic = monotonic
    }

    /// Seconds since 1970 by the system's clock.
    public static let systemTime: @Sendable () -> Int64 = { Int64(Glibc.time(nil)) }

    /// The token to send now.
    func token(of key: APNsSigningKey, in environment: APNsEnvironment) throws(ProviderTokenError) -> Token {
        let (seconds, now) = (unixSeconds(), monotonic())
        return try entries.withLock { entries throws(ProviderTokenError) in
            let identity = Identity(key: key, environment: environment)
            if let entry = entries[identity], !entry.lifetime.isOver(unixSeconds: seconds, monotonic: now) {
                return entry.token
            }
            return try ProviderTokenCache.mint(identity, seconds, now, in: &entries)
        }
    }

    /// To be told when APNs called `token` expired.
    ///
    /// - Returns: whether there is another one to try: it was replaced meanwhile, or it is old enough to be. Where
    ///   not, a fresh token was refused: the clock is wrong, or the key.
    func reject(
        _ token: Token,
        of key: APNsSigningKey,
        in environment: APNsEnvironment,
    ) throws(ProviderTokenError) -> Bool {
        let (seconds, now) = (unixSeconds(), monotonic())
        return try entries.withLock { entries throws(ProviderTokenError) in
            let identity = Identity(key: key, environment: environment)
            guard let entry = entries[identity], entry.token == token else { return true }
            guard entry.lifetime.mayBeReplaced(at: now) else { return false }
            _ = try ProviderTokenCache.mint(identity, seconds, now, in: &entries)
            return true
        }
    }

    private static func mint(
        _ identity: Identity,
        _ seconds: Int64,
        _ now: MonotonicTime,
        in entries: inout [Identity: Entry],
    ) throws(ProviderTokenError) -> Token {
        let text = try ProviderToken.mint(identity.key, issuedAt: seconds)
        let token = Token(authorization: Array("bearer \(text)".utf8))
        let lifetime = ProviderTokenLifetime(issuedAt: seconds, mintedAt: now)
        // Those of removed keys. Younger ones stay: a key that comes back must not be given a second token.
        entries = entries.filter { now - $0.value.lifetime.mintedAt < .seconds(3600) }
        entries[identity] = Entry(token: token, lifetime: lifetime)
        return token
    }
}
