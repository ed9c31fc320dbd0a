/// Where APNs is and how patient its client is.
public struct APNsConfiguration: Sendable {
    /// Serves tokens of apps from TestFlight and the App Store.
    public var production: APNsEndpoint
    /// Serves tokens of apps signed for development.
    public var sandbox: APNsEndpoint
    /// Takes pushes to broadcast channels in production. Apple's samples name this host, its prose the one for devices.
    public var broadcastProduction = APNsEndpoint.broadcastProduction
    /// Takes pushes to broadcast channels in the sandbox.
    public var broadcastSandbox = APNsEndpoint.broadcastSandbox
    /// Manages the broadcast channels of production.
    public var manageBroadcastProduction = APNsEndpoint.manageBroadcastProduction
    /// Manages the broadcast channels of the sandbox.
    public var manageBroadcastSandbox = APNsEndpoint.manageBroadcastSandbox
    /// PEM file with certificate authorities to trust beside those of the system; nil for none.
    public var caFile: String?
    /// From name resolution to the end of the TLS handshake, over all addresses of the host.
    public var connectTimeout: Duration = .seconds(10)
    /// From ``APNsClient/send(_:signedBy:to:completion:)`` to its outcome, waiting included.
    public var requestTimeout: Duration = .seconds(20)
    /// After so long without a byte from the peer a PING asks whether it is there. Firewalls forget idle connections
    /// after 4 to 30 minutes.
    public var pingInterval: Duration = .seconds(30)
    /// How long the answer to a PING may take before the connection counts as dead.
    public var pingTimeout: Duration = .seconds(10)
    /// Connections that one signing key may have open in one environment, for each client.
    public var connectionsPerKey = 2
    /// Upper limit of concurrent streams, whatever the peer allows.
    public var maximumStreamsPerConnection = 1000
    /// Pause after the first connection that came to nothing; each further one doubles it. Apple takes quick
    /// reconnects for an attack.
    public var shortestReconnectDelay: Duration = .milliseconds(500)
    /// The longest pause between attempts to connect.
    public var longestReconnectDelay: Duration = .seconds(60)
    /// A connection that has not answered its first request by then gets company: one silent answer, or an address that
    /// swallows everything, would else hold up the key until its deadline. Where a push has waited so long for a stream,
    /// more than there is room for are turned away.
    public var patience: Duration = .seconds(1)
    /// How long nothing is sent with a key after APNs refused it, before one push probes again; each further refusal
    /// doubles it.
    public var shortestHold: Duration = .seconds(30)
    /// The longest pause between probes.
    public var longestHold: Duration = .seconds(900)
    /// When provider tokens are replaced.
    public var providerTokens = ProviderTokenRules()

    /// Apple's hosts, or others such as a simulator.
    public init(production: APNsEndpoint? = nil, sandbox: APNsEndpoint? = nil, caFile: String? = nil) {
        self.production = production ?? .production
        self.sandbox = sandbox ?? .sandbox
        self.caFile = caFile
    }

    func endpoint(of environment: APNsEnvironment, for service: APNsService = .device) -> APNsEndpoint {
        switch (service, environment) {
        case (.device, .production): production
        case (.device, .sandbox): sandbox
        case (.broadcast, .production): broadcastProduction
        case (.broadcast, .sandbox): broadcastSandbox
        case (.channelManagement, .production): manageBroadcastProduction
        case (.channelManagement, .sandbox): manageBroadcastSandbox
        }
    }
}
