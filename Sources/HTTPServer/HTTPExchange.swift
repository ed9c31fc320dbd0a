import Synchronization

/// Names one request that waits for its answer; good for one ``HTTPServer/respond(_:to:)``.
///
/// No two requests of a process share one, so that an answer given to another lane's server is lost rather than sent
/// to a stranger.
public struct HTTPExchange: Sendable, Hashable {
    private let serial: UInt64

    private static let lastSerial = Atomic<UInt64>(0)

    static func next() -> HTTPExchange {
        HTTPExchange(serial: lastSerial.wrappingAdd(1, ordering: .relaxed).newValue)
    }
}
