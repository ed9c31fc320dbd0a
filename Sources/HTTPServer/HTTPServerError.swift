import Glibc

/// Why a server could not be brought to listen.
public struct HTTPServerError: Error, CustomStringConvertible, Hashable {
    /// What kind of failure it was.
    public enum Kind: Sendable, Hashable {
        /// The text is not `host:port` with a numeric host.
        case invalidAddress
        /// Something, perhaps another gateway, already listens there.
        case addressInUse
        /// The listening socket was already given to a server.
        case socketAlreadyUsed
        /// The system refused; the code is the `errno`.
        case system(code: Int32)
    }

    /// What kind of failure it was.
    public let kind: Kind

    /// The listen address it is about.
    public let address: String

    /// A sentence for the operator; it names the address.
    public var description: String {
        switch kind {
        case .invalidAddress:
            "\(address) is not a listen address: write an IP address and a port, as in 127.0.0.1:8080 or [::1]:8080"
        case .addressInUse: "\(address) is already in use by another listener"
        case .socketAlreadyUsed: "the listening socket of \(address) was already given to a server"
        case .system(let code): "cannot listen on \(address): \(String(cString: strerror(code)))"
        }
    }
}
