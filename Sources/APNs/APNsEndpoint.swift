/// Host and port of one APNs environment.
public struct APNsEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// Name or numeric address, an IPv6 address without brackets.
    public let host: String
    /// TCP port. Apple serves 443 and 2197; for channel management 2196 in production, 2195 in the sandbox.
    public let port: UInt16

    /// Parses `https://HOST[:PORT]`; the port is 443 where none is given.
    ///
    /// - Throws: ``APNsEndpointError`` for another scheme, a path, a query or a user.
    public init(parsing url: String) throws(APNsEndpointError) {
        let scheme = "https://"
        guard url.lowercased().hasPrefix(scheme) else { throw APNsEndpointError(reason: "it must start with https://") }
        var rest = url.dropFirst(scheme.count)
        if rest.hasSuffix("/") {
            rest.removeLast()
        }
        let portText: Substring?
        let hostText: Substring
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { throw APNsEndpointError(reason: "the [ has no ]") }
            hostText = rest[rest.index(after: rest.startIndex)..<end]
            let tail = rest[rest.index(after: end)...]
            guard tail.isEmpty || tail.hasPrefix(":") else {
                throw APNsEndpointError(reason: "after ] only :PORT may follow")
            }
            portText = tail.isEmpty ? nil : tail.dropFirst()
            guard APNsEndpoint.isHost(hostText, allowing: ":") else {
                throw APNsEndpointError(reason: "no IPv6 address")
            }
        } else {
            let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            hostText = parts[0]
            portText = parts.count > 1 ? parts[1] : nil
            guard APNsEndpoint.isHost(hostText, allowing: "-") else { throw APNsEndpointError(reason: "no host name") }
        }
        if let portText {
            guard portText.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }), let port = UInt16(portText), port > 0 else {
                throw APNsEndpointError(reason: "the port must be 1 to 65535")
            }
            self.port = port
        } else {
            self.port = 443
        }
        self.host = String(hostText)
    }

    private init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    static let production = APNsEndpoint(host: "api.push.apple.com")
    static let sandbox = APNsEndpoint(host: "api.sandbox.push.apple.com")
    static let broadcastProduction = APNsEndpoint(host: "api-broadcast.push.apple.com")
    static let broadcastSandbox = APNsEndpoint(host: "api-broadcast.sandbox.push.apple.com")
    static let manageBroadcastProduction = APNsEndpoint(host: "api-manage-broadcast.push.apple.com", port: 2196)
    static let manageBroadcastSandbox = APNsEndpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)

    /// The value of `:authority`: the port is left out where it is the one of https (RFC 9110, 4.2.3).
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == 443 ? name : "\(name):\(port)"
    }

    /// `HOST:PORT`, for logs.
    public var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    private static func isHost(_ text: Substring, allowing special: Unicode.Scalar) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", ".", "_", special: true
                default: false
                }
            }
    }
}

/// The text is no URL of an APNs endpoint.
public struct APNsEndpointError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong with it.
    public let reason: String

    /// What was expected, and what is wrong. Does not repeat the text.
    public var description: String { "expected https://HOST[:PORT]: \(reason)" }
}
