/// At what age provider tokens are replaced, the same for all gateways of a database.
public struct ProviderTokenRules: Sendable, Equatable {
    /// From this age on a token is replaced. APNs refuses one of an hour (ExpiredProviderToken).
    public var replacedAfter: Duration = .seconds(50 * 60)
    /// A younger token is never replaced. APNs refuses one that replaces another within 20 minutes
    /// (TooManyProviderTokenUpdates).
    public var shortestLife: Duration = .seconds(20 * 60)

    /// 50 and 20 minutes.
    public init() {}
}
