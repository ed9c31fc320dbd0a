/// Why a simulator does not start.
public enum APNsSimulatorError: Error, CustomStringConvertible, Equatable {
    /// A certificate or key cannot be made, read or written.
    case certificate(String)
    /// An address cannot be listened on.
    case listen(String)
    /// The kernel gives no more descriptors or memory.
    case resources(String)

    /// The whole text for a person.
    public var description: String {
        switch self {
        case .certificate(let text), .listen(let text), .resources(let text): text
        }
    }
}
