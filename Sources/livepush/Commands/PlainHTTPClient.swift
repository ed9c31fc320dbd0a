import EventLoop
import Glibc

/// One HTTP/1.0 request over plain TCP, for commands that talk to a gateway on this machine or behind its balancer.
enum PlainHTTPClient {
    /// An answer.
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
    }

    private static let maximumBytes = 4 << 20

    /// Posts JSON and reads the answer to its end.
    ///
    /// - Parameter url: `http://HOST:PORT`; TLS is the balancer's work.
    static func post(_ url: String, path: String, body: [UInt8]) async throws -> Answer {
        try await request("POST", url, path: path, body: body)
    }

    /// Asks and reads the answer to its end.
    ///
    /// - Parameters:
    ///   - url: `http://HOST:PORT`; TLS is the balancer's work.
    ///   - bearer: what stands behind `Authorization: Bearer`; nil: there is no such field.
    static func request(
        _ method: String,
        _ url: String,
        path: String,
        bearer: String? = nil,
        body: [UInt8],
    ) async throws -> Answer {
        guard url.hasPrefix("http://") else { throw UsageError("--url: expected http://HOST:PORT") }
        var authority = url.dropFirst("http://".count)
        if authority.hasSuffix("/") { authority.removeLast() }
        guard !authority.isEmpty, !authority.contains(where: { "/?#@".contains($0) }) else {
            throw UsageError("--url: expected http://HOST:PORT")
        }
        let colon = authority.hasSuffix("]") ? nil : authority.lastIndex(of: ":")
        let port = colon.map { String(authority[authority.index(after: $0)...]) } ?? "80"
        var host = String(authority[..<(colon ?? authority.endIndex)])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        }
        let head = """
            \(method) \(path) HTTP/1.0\r
            Host: \(authority)\r
            \(bearer.map { "Authorization: Bearer \($0)\r\n" } ?? "")Content-Type: application/json\r
            Content-Length: \(body.count)\r
            \r\n
            """
        let request = Array(head.utf8) + body
        let result = await runBlockingWork { [host] () -> Result<Answer, CommandFailure> in
            Result { () throws(CommandFailure) in try exchange(request, host: host, port: port) }
        }
        return try result.get()
    }

    private static func exchange(_ request: [UInt8], host: String, port: String) throws(CommandFailure) -> Answer {
        let descriptor = try connect(host: host, port: port)
        defer { close(descriptor) }
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw CommandFailure("\(host):\(port): the connection was closed") }
            sent += count
        }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while bytes.count < maximumBytes {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count >= 0 else { throw CommandFailure("\(host):\(port): no answer within 30 seconds") }
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk.prefix(count))
        }
        return try parse(bytes, from: "\(host):\(port)")
    }

    private static func parse(_ bytes: [UInt8], from peer: String) throws(CommandFailure) -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n"), text.hasPrefix("HTTP/1."),
            let status = Int(text.dropFirst("HTTP/1.1 ".count).prefix(3))
        else { throw CommandFailure("\(peer): the answer is not HTTP") }
        return Answer(status: status, body: Array(text[end.upperBound...].utf8))
    }

    private static func connect(host: String, port: String) throws(CommandFailure) -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, port, &hints, &found)
        guard failure == 0 else { throw CommandFailure("\(host): \(String(cString: gai_strerror(failure)))") }
        defer { freeaddrinfo(found) }
        var address = found
        while let current = address {
            let descriptor = socket(
                current.pointee.ai_family,
                current.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue),
                current.pointee.ai_protocol,
            )
            if descriptor >= 0 {
                var limit = timeval(tv_sec: 30, tv_usec: 0)
                setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
                if Glibc.connect(descriptor, current.pointee.ai_addr, current.pointee.ai_addrlen) == 0 {
                    return descriptor
                }
                close(descriptor)
            }
            address = current.pointee.ai_next
        }
        throw CommandFailure("cannot connect to \(host):\(port); is livepush serve running there?")
    }
}
