public import EventLoop
public import Logging
public final class APNsClient {
    public init(on loop: EventLoop, configuration: APNsConfiguration, tokens: ProviderTokenCache, logger: Logger) throws {}
    public func start(isolation: isolated any Actor = #isolation) {}
    public func send(_ request: APNsRequest, signedBy key: APNsSigningKey, to environment: APNsEnvironment, completion: @escaping (APNsOutcome) -> Void) {}
    public func retire(_ key: APNsSigningKey) {}
    public var requestsInFlight: Int { 0 }
    public func close() {}
}
