import Glibc

/// Where to listen: a numeric IP address and a port.
public struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// `127.0.0.1`, `0.0.0.0`, `::1`: without brackets.
    public let host: String

    /// 0 lets the kernel choose a free one.
    public let port: UInt16

    /// Reads `127.0.0.1:8080` or `[::1]:8080`.
    ///
    /// Names are refused: resolving one may block, and may give several addresses of which only one would be heard.
    ///
    /// - Throws: ``HTTPServerError/Kind-swift.enum/invalidAddress``.
    public init(parsing text: String) throws(HTTPServerError) {
        let invalid = HTTPServerError(kind: .invalidAddress, address: text)
        guard
            let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
            case let digits = text[colon...].dropFirst(),
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(digits)
        else { throw invalid }
        let host = text[..<colon]
        let isVersion6 = host.first == "[" && host.last == "]" && host.utf8.count > 2
        self.host = String(isVersion6 ? host.dropFirst().dropLast() : host)
        self.port = port
        guard self.host.utf8.contains(UInt8(ascii: ":")) == isVersion6, socketAddress() != nil else { throw invalid }
    }

    /// The form that ``init(parsing:)`` reads.
    public var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The same host with another port.
    func with(port: UInt16) -> ListenAddress {
        ListenAddress(host: host, port: port)
    }

    private init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Nil where the host is not a numeric address.
    func socketAddress() -> SocketAddress? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let found else { return nil }
        defer { freeaddrinfo(found) }
        guard let address = found.pointee.ai_addr else { return nil }
        return SocketAddress(copying: address, length: found.pointee.ai_addrlen)
    }
}
