import EventLoop
import Glibc

/// An address with its port, as the kernel wants it.
struct SocketAddress: Sendable, Equatable, CustomStringConvertible {
    /// A `sockaddr_in` or `sockaddr_in6`.
    let bytes: [UInt8]
    /// Numeric.
    let description: String

    /// Resolves a name, or reads a numeric address. Blocks for as long as the resolver takes: never to be called on a
    /// lane's thread. Nothing is cached here, so that APNs can spread its load.
    ///
    /// - Returns: all addresses, in the order of RFC 6724.
    static func resolve(host: String, port: UInt16) -> Result<[SocketAddress], APNsFailure> {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, String(port), &hints, &list)
        guard failure == 0 else {
            let reason =
                failure == EAI_SYSTEM ? String(cString: strerror(errno)) : String(cString: gai_strerror(failure))
            return .failure(APNsFailure(.connectFailed, detail: "\(host): the name does not resolve: \(reason)"))
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            guard let address = SocketAddress(entry), !addresses.contains(address) else { continue }
            addresses.append(address)
        }
        guard !addresses.isEmpty else {
            return .failure(APNsFailure(.connectFailed, detail: "\(host): the name has no address"))
        }
        return .success(addresses)
    }

    private init?(_ entry: addrinfo) {
        guard let address = entry.ai_addr else { return nil }
        var text = [UInt8](repeating: 0, count: Int(NI_MAXHOST))
        let failure = text.withUnsafeMutableBytes { buffer in
            getnameinfo(
                address,
                entry.ai_addrlen,
                buffer.baseAddress?.assumingMemoryBound(to: CChar.self),
                socklen_t(buffer.count),
                nil,
                0,
                NI_NUMERICHOST,
            )
        }
        guard failure == 0 else { return nil }
        self.bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
        self.description = String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }

    /// Whether a host is an address rather than a name.
    static func isNumeric(_ host: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }
}
