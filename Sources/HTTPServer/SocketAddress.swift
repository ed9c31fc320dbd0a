import Glibc

/// An address in the kernel's form.
struct SocketAddress {
    private var storage = sockaddr_storage()
    private var length: socklen_t

    init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        self.length = min(length, socklen_t(MemoryLayout<sockaddr_storage>.size))
        withUnsafeMutableBytes(of: &storage) { storage in
            storage.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(self.length)))
        }
    }

    /// Takes a non-blocking connection from a listening socket's queue; -1 and `errno` where it gives none.
    static func accept(from listener: Int32) -> (connection: Int32, peer: SocketAddress) {
        var connection: Int32 = -1
        let peer = SocketAddress { connection = Glibc.accept(listener, $0, $1) }
        if connection >= 0 {
            _ = fcntl(connection, F_SETFL, O_NONBLOCK)
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        }
        return (connection, peer)
    }

    /// The address a socket is bound to.
    init(boundTo descriptor: Int32) {
        self.init { _ = getsockname(descriptor, $0, $1) }
    }

    private init(filledBy call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Void) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        self.storage = storage
        self.length = length
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    var family: Int32 { Int32(storage.ss_family) }

    /// 0 for other families than IPv4 and IPv6.
    var port: UInt16 {
        withUnsafeBytes(of: storage) { bytes in
            switch family {
            case AF_INET: UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
            case AF_INET6: UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
            default: 0
            }
        }
    }

    /// The IP address as text; an IPv4 peer of an IPv6 socket in its IPv4 form.
    var host: String {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let failure = withPointer { address, length in
            getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        }
        guard failure == 0 else { return "unknown" }
        let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let mapped = "::ffff:"
        return host.hasPrefix(mapped) && host.contains(".") ? String(host.dropFirst(mapped.utf8.count)) : host
    }
}
