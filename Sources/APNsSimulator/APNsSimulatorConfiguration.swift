/// Where the simulator listens and what it shows of itself.
public struct APNsSimulatorConfiguration: Sendable {
    /// The port that plays api.push.apple.com: a numeric IP address and a port, 0 for a free one.
    public var productionListen = "127.0.0.1:0"

    /// The port that plays api.sandbox.push.apple.com.
    public var sandboxListen = "127.0.0.1:0"

    /// The port that plays api-broadcast.push.apple.com.
    public var broadcastProductionListen = "127.0.0.1:0"

    /// The port that plays api-broadcast.sandbox.push.apple.com.
    public var broadcastSandboxListen = "127.0.0.1:0"

    /// The port that plays api-manage-broadcast.push.apple.com:2196.
    public var manageBroadcastProductionListen = "127.0.0.1:0"

    /// The port that plays api-manage-broadcast.sandbox.push.apple.com:2195.
    public var manageBroadcastSandboxListen = "127.0.0.1:0"

    /// The HTTP port for tests and people. It has no access control: keep it on a loopback address.
    public var controlListen = "127.0.0.1:0"

    /// Where to write the certificate of the test authority (PEM), for the client to trust. nil writes none.
    public var authorityOutputFile: String?

    /// DNS names and IP addresses of the test certificate besides localhost, 127.0.0.1 and ::1.
    public var certificateNames: [String] = []

    /// A PEM certificate chain to use instead of a test certificate; needs ``privateKeyFile``.
    public var certificateFile: String?

    /// The PEM private key of ``certificateFile``.
    public var privateKeyFile: String?

    /// Streams a client may open at once after the first push of its connection was accepted; 1 before. APNs has been
    /// seen to allow 1000, formerly 500.
    public var maximumConcurrentStreams: UInt32 = 1000

    /// The numbers that its phones go by.
    public var phoneRules = PhoneRules()

    /// The defaults: free loopback ports and a test certificate.
    public init() {}
}
