public import EventLoop
public import Logging

/// Tries a connection to APNs as pushes use it: name, TCP, TLS with HTTP/2, and the first frame of the server. Nothing is
/// sent on it.
///
/// It lives on its loop's thread, for one attempt.
public final class APNsReachability: APNsConnection.Owner {
    private let connection: APNsConnection
    private var completion: ((APNsFailure?) -> Void)?

    /// - Parameters:
    ///   - loop: the loop of the caller's actor.
    ///   - environment: which APNs.
    ///   - service: which of its hosts.
    /// - Throws: `connectFailed` when the file of certificate authorities cannot be read; the detail names it.
    public init(
        on loop: EventLoop,
        configuration: APNsConfiguration,
        environment: APNsEnvironment,
        service: APNsService,
        logger: Logger,
    ) throws(APNsFailure) {
        connection = APNsConnection(
            on: loop,
            to: configuration.endpoint(of: environment, for: service),
            tls: try TLSContext(caFile: configuration.caFile),
            configuration: configuration,
            logger: logger,
        )
    }

    /// Connects.
    ///
    /// - Parameter completion: called once within ``APNsConfiguration/connectTimeout``, with nil where APNs is reachable.
    public func check(completion: @escaping (APNsFailure?) -> Void) {
        self.completion = completion
        connection.owner = self
        connection.connect()
    }

    /// Disconnects. Not to be called from inside the completion.
    public func close() {
        connection.owner = nil
        connection.close()
    }

    func connectionIsReady(_ connection: APNsConnection) {
        if connection.limit.hasSettings {
            finish(nil)
        }
    }

    func connection(_ connection: APNsConnection, goesAway code: UInt32, reason: String?) {
        finish(APNsFailure(.connectFailed, detail: "GOAWAY \(HTTP2Session.name(of: code)) \(reason ?? "")"))
    }

    func connection(_ connection: APNsConnection, ended push: PendingPush, code: UInt32) {}

    func connectionEnded(_ connection: APNsConnection, orphans: [PendingPush], _ failure: APNsFailure) {
        finish(failure)
    }

    private func finish(_ failure: APNsFailure?) {
        completion?(failure)
        completion = nil
    }
}
