/// One request, complete with its body.
public struct HTTPRequest: Sendable {
    /// The method as sent, in capitals: `POST`.
    public let method: String

    /// The path as sent: not percent-decoded, without the query. `*` for `OPTIONS *`.
    public let path: String

    /// What follows the first `?`, as sent; nil where there is none.
    public let query: String?

    /// The header fields.
    public let headers: HTTPHeaders

    /// The body after chunked decoding; empty where there is none.
    public let body: [UInt8]

    /// The peer's IP address without the port: `127.0.0.1`, `2001:db8::1`. A proxy's, where there is one.
    public let remoteAddress: String

    /// Makes a request; tests of a handler need no socket.
    public init(
        method: String,
        path: String,
        query: String?,
        headers: HTTPHeaders,
        body: [UInt8],
        remoteAddress: String,
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.remoteAddress = remoteAddress
    }

    /// The parts of the path between its slashes, each percent-decoded once after the split, so that `%2F` is a slash
    /// inside a segment. Empty segments stay: `/a/` is `a` and an empty one, `/` is one empty one.
    ///
    /// Nil for a path that does not start with a slash, and for bad percent-encoding, bad UTF-8 or a NUL.
    public var pathSegments: [String]? {
        var path = path
        return path.withUTF8 { bytes in
            guard bytes.first == UInt8(ascii: "/") else { return nil }
            var segments: [String] = []
            segments.reserveCapacity(4)
            var rest = bytes.dropFirst()
            while true {
                let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
                guard let segment = PercentEncoding.decode(rest[..<end]) else { return nil }
                segments.append(segment)
                guard end < rest.endIndex else { return segments }
                rest = rest[(end + 1)...]
            }
        }
    }

    /// The `name=value` pairs of the query in their order, percent-decoded. A `+` is a plus; a name without `=` has an
    /// empty value. Empty where there is no query; nil for bad percent-encoding, bad UTF-8 or a NUL.
    public var queryItems: [(name: String, value: String)]? {
        guard var query else { return [] }
        return query.withUTF8 { bytes in
            var items: [(name: String, value: String)] = []
            items.reserveCapacity(8)
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = rest[..<(rest.firstIndex(of: UInt8(ascii: "&")) ?? rest.endIndex)]
                rest = rest[part.endIndex...].dropFirst()
                guard !part.isEmpty else { continue }
                let end = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
                guard
                    let name = PercentEncoding.decode(part[..<end]),
                    let value = PercentEncoding.decode(part[end...].dropFirst())
                else { return nil }
                items.append((name, value))
            }
            return items
        }
    }

    /// The first value of that name in the query; nil where there is none or the query is badly encoded.
    public func queryValue(_ name: String) -> String? {
        queryItems?.first { $0.name == name }?.value
    }
}
