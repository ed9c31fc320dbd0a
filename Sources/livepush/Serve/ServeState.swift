import Gateway
import Synchronization

/// Whether a balancer should send requests here.
final class ServeState: Sendable {
    private let isDraining = Atomic(false)
    private let instance: GatewayInstance
    private let directory: ApplicationDirectory

    init(instance: GatewayInstance, directory: ApplicationDirectory) {
        self.instance = instance
        self.directory = directory
    }

    /// Why not, in words; nil: PostgreSQL answers, its secrets can be opened, and the process does not end.
    var obstacle: String? {
        if isDraining.load(ordering: .relaxed) { return "the gateway ends" }
        guard instance.isReady else { return "PostgreSQL does not answer, or takes no writes" }
        return directory.obstacle
    }

    func beginDraining() {
        isDraining.store(true, ordering: .relaxed)
    }
}
