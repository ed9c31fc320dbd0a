import EventLoop
import HTTPServer
import Logging

/// The control port: ``ControlAPI`` behind an HTTP server.
final class ControlServer {
    private(set) var port: UInt16 = 0
    private var server: HTTPServer?

    /// Listens at once.
    ///
    /// - Parameter status: what the push ports tell of themselves, asked for each request.
    init(
        address: String,
        loop: EventLoop,
        api: ControlAPI,
        status: @escaping () -> ControlAPI.Status,
        logger: Logger,
    ) throws(APNsSimulatorError) {
        do throws(HTTPServerError) {
            let server = HTTPServer(on: loop, logger: logger) { [weak self] request, exchange in
                self?.server?.respond(api.answer(request, status: status()), to: exchange)
            }
            for socket in try ListeningSocket.bind(ListenAddress(parsing: address), count: 1) {
                port = socket.port
                try server.accept(on: socket)
            }
            self.server = server
        } catch {
            throw .listen(error.description)
        }
    }

    /// Stops listening and closes every connection.
    func close() {
        server?.close()
        server = nil
    }
}
