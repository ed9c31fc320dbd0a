import Glibc
import Synchronization

/// A bound, listening, non-blocking TCP socket.
///
/// A class, so that an array of them can be handed out to lanes. It owns its file descriptor until
/// ``HTTPServer/accept(on:)`` takes it over, and closes it if none does.
public final class ListeningSocket: Sendable {
    /// The port it listens on, the actual one where 0 was asked for.
    public let port: UInt16

    let address: ListenAddress
    private let descriptor: Atomic<Int32>

    private init(descriptor: Int32, address: ListenAddress) {
        self.descriptor = Atomic(descriptor)
        self.address = address
        self.port = address.port
    }

    deinit {
        if let descriptor = take() {
            Glibc.close(descriptor)
        }
    }

    /// Hands the descriptor over, once.
    func take() -> Int32? {
        let descriptor = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        return descriptor < 0 ? nil : descriptor
    }

    /// Binds `count` sockets to one address, among which the kernel spreads the connections (`SO_REUSEPORT`).
    ///
    /// Since `SO_REUSEPORT` would let a second process share the port without a word, the port is first bound without
    /// it. Between the two another process of the same user may slip in; nothing closes that gap.
    ///
    /// - Parameter count: one for each lane.
    /// - Throws: ``HTTPServerError/Kind-swift.enum/addressInUse`` where anything listens on the address already;
    ///   `system` for what else the kernel refuses.
    public static func bind(_ address: ListenAddress, count: Int) throws(HTTPServerError) -> [ListeningSocket] {
        if address.port != 0 {
            Glibc.close(try boundDescriptor(address, sharesPort: false))
        }
        var sockets: [ListeningSocket] = []
        var address = address
        for _ in 0..<count {
            let descriptor = try boundDescriptor(address, sharesPort: true)
            address = address.with(port: SocketAddress(boundTo: descriptor).port)
            // Owned from here on, so that a throw closes it.
            let socket = ListeningSocket(descriptor: descriptor, address: address)
            guard listen(descriptor, SOMAXCONN) == 0 else { throw systemError(address) }
            sockets.append(socket)
        }
        return sockets
    }

    private static func boundDescriptor(_ address: ListenAddress, sharesPort: Bool) throws(HTTPServerError) -> Int32 {
        guard let socketAddress = address.socketAddress() else {
            throw HTTPServerError(kind: .invalidAddress, address: address.description)
        }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(socketAddress.family, type, 0)
        guard descriptor >= 0 else { throw systemError(address) }
        // Connections of the process before this one that are in TIME_WAIT must not keep the port.
        var isReady = enable(SO_REUSEADDR, level: SOL_SOCKET, on: descriptor)
        if sharesPort {
            isReady = isReady && enable(SO_REUSEPORT, level: SOL_SOCKET, on: descriptor)
        }
        // Linux hands this down to every accepted connection.
        isReady = isReady && enable(TCP_NODELAY, level: Int32(IPPROTO_TCP), on: descriptor)
        isReady = isReady && socketAddress.withPointer { Glibc.bind(descriptor, $0, $1) } == 0
        guard isReady else {
            let error = systemError(address)
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func enable(_ option: Int32, level: Int32, on descriptor: Int32) -> Bool {
        var value: Int32 = 1
        return setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    private static func systemError(_ address: ListenAddress) -> HTTPServerError {
        let code = errno
        return HTTPServerError(
            kind: code == EADDRINUSE ? .addressInUse : .system(code: code),
            address: address.description,
        )
    }
}
