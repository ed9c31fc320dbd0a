/// When failing tokens are taken for a wrong configuration.
public struct TokenFailureRules: Sendable, Equatable {
    /// How many different tokens must have failed.
    public var failures = 20
    /// In how short a time.
    public var window: Duration = .seconds(600)
    /// Without any failure for so long the guard goes down: nothing waits for it any more.
    public var rest: Duration = .seconds(3600)
    /// A success is proof of the configuration for so long.
    public var proof: Duration = .seconds(3600)

    /// 20 tokens in 10 minutes; an hour each.
    public init() {}
}
