public import EventLoop
import Glibc
public import Logging

/// An HTTP/1.1 server on one event loop.
///
/// It hands complete requests to one handler, one at a time for each connection, and gives every other answer itself:
/// to what cannot be parsed, is too large, too slow, or one connection too many. Those are JSON (see
/// ``HTTPServerConfiguration/errorBody``) and close the connection.
///
/// To be made, used and dropped on the loop's thread. Where the port is to close without a failed request: call
/// ``announceClose()``, wait until load balancers know, ``stopAccepting()``, ``closeIdleConnections()``, wait until
/// ``openConnections`` is 0, ``close()``.
public final class HTTPServer {
    let loop: EventLoop
    let configuration: HTTPServerConfiguration
    let logger: Logger

    /// Whether every answer closes its connection.
    private(set) var announcesClose = false

    /// How often it has refused a request or a connection by itself, by the machine word of its answer.
    public private(set) var refusals: [String: Int] = [:]

    private let handler: (HTTPRequest, HTTPExchange) -> Void
    private var listeners: [Listener] = []
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var pending: [HTTPExchange: HTTPConnection] = [:]
    private var writer = ResponseWriter()
    private var isFull = false

    /// Makes a server that listens nowhere yet.
    ///
    /// It makes the process ignore SIGPIPE, which libevent's writes to a closed connection would otherwise die of.
    ///
    /// - Parameters:
    ///   - loop: whose thread this is called on.
    ///   - configuration: the limits.
    ///   - logger: refused requests at `debug`, refused connections and exhausted descriptors at `warning`.
    ///   - handler: called with each request on the loop's thread; it answers by ``respond(_:to:)``, at once or later.
    ///     It should hold its owner weakly, since the owner usually holds the server.
    public init(
        on loop: EventLoop,
        configuration: HTTPServerConfiguration = HTTPServerConfiguration(),
        logger: Logger,
        handler: @escaping (HTTPRequest, HTTPExchange) -> Void,
    ) {
        self.loop = loop
        self.configuration = configuration
        self.logger = logger
        self.handler = handler
        signal(SIGPIPE, SIG_IGN)
    }

    // MARK: - Connections

    /// Accepts connections from `socket`, which the server owns from now on. May be called with several.
    ///
    /// - Throws: ``HTTPServerError/Kind-swift.enum/socketAlreadyUsed``.
    public func accept(on socket: ListeningSocket) throws(HTTPServerError) {
        guard let descriptor = socket.take() else {
            throw HTTPServerError(kind: .socketAlreadyUsed, address: socket.address.description)
        }
        listeners.append(
            Listener(
                on: loop,
                descriptor: descriptor,
                accepted: { [weak self] descriptor, peer in
                    guard let self else {
                        Glibc.close(descriptor)
                        return
                    }
                    add(descriptor, peer)
                },
                failed: { [logger] code in
                    logger.warning("cannot accept connections", ["error": .string(String(cString: strerror(code)))])
                },
            )
        )
    }

    /// How many connections are open, those included that were told to close and have not yet.
    public var openConnections: Int { connections.count }

    /// How many requests wait for ``respond(_:to:)``.
    public var pendingExchanges: Int { pending.count }

    private func add(_ descriptor: Int32, _ peer: SocketAddress) {
        guard connections.count < configuration.maximumConnections else { return turnAway(descriptor) }
        isFull = false
        guard let connection = HTTPConnection(server: self, descriptor: descriptor, remoteAddress: peer.host) else {
            Glibc.close(descriptor)
            return
        }
        connections[ObjectIdentifier(connection)] = connection
    }

    /// Answers without reading. The kernel's small send buffer always takes this much.
    private func turnAway(_ descriptor: Int32) {
        if !isFull {
            isFull = true
            logger.warning("too many connections", ["limit": .count(configuration.maximumConnections)])
        }
        let bytes = serialize(answer(to: .tooManyConnections, path: ""), omitsBody: false, closes: true)
        _ = bytes.withUnsafeBytes { SocketCall.send($0, to: descriptor) }
        SocketCall.finishWriting(descriptor)
        // Bytes left unread would make the kernel send a reset after the answer.
        SocketCall.discardUnreadBytes(descriptor)
        Glibc.close(descriptor)
    }

    func forget(_ connection: HTTPConnection) {
        connections[ObjectIdentifier(connection)] = nil
    }

    // MARK: - Exchanges

    /// Answers a request. Nothing happens if the client has gone, or the request is already answered.
    public func respond(_ response: HTTPResponse, to exchange: HTTPExchange) {
        pending.removeValue(forKey: exchange)?.respond(response, to: exchange)
    }

    func deliver(_ request: HTTPRequest, _ exchange: HTTPExchange, from connection: HTTPConnection) {
        pending[exchange] = connection
        handler(request, exchange)
    }

    func forget(_ exchange: HTTPExchange) {
        pending[exchange] = nil
    }

    /// - Parameter path: as far as it was read.
    func answer(to fault: HTTPFault, path: String) -> HTTPResponse {
        refusals[fault.rawValue, default: 0] += 1
        let body = configuration.errorBody(HTTPRefusal(fault, path: path))
        return .json(fault.status, body, headers: fault == .tooManyConnections ? [("Retry-After", "1")] : [])
    }

    /// - Returns: bytes to be used before the next call.
    func serialize(_ response: HTTPResponse, omitsBody: Bool, closes: Bool) -> [UInt8] {
        writer.write(response, omitsBody: omitsBody, closes: closes, second: time(nil))
        return writer.bytes
    }

    // MARK: - Closing

    /// From now on every answer carries `Connection: close`. Connections are still accepted.
    public func announceClose() {
        announcesClose = true
    }

    /// Accepts the connections that the kernel already holds, and closes the listeners. Connections are still served,
    /// each with one more answer, which carries `Connection: close`.
    public func stopAccepting() {
        announcesClose = true
        for listener in listeners {
            listener.drainAndClose()
        }
        listeners = []
    }

    /// Closes the connections that have no request under way. One that has not sent its first request is left up to a
    /// second for it.
    public func closeIdleConnections() {
        for connection in Array(connections.values) {
            connection.closeIfIdle()
        }
    }

    /// Closes listeners and connections now. Requests under way stay unanswered.
    public func close() {
        for listener in listeners {
            listener.close()
        }
        listeners = []
        for connection in Array(connections.values) {
            connection.close()
        }
    }
}
