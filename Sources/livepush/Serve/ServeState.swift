import Gateway
import Synchronization

/// Whether a balancer should send requests here.
final class ServeState: Sendable {
    private let isDraining = Atomic(false)
    private let instance: GatewayInstance

    init(instance: GatewayInstance) {
        self.instance = instance
    }

    /// PostgreSQL answers, and the process does not end.
    var isReady: Bool {
        !isDraining.load(ordering: .relaxed) && instance.isReady
    }

    func beginDraining() {
        isDraining.store(true, ordering: .relaxed)
    }
}
