import EventLoop
import Synchronization

/// What the lanes of a process know in common about signing keys and bundle ids that APNs refuses: what one lane learns
/// holds, or frees, the pushes of all. May be called from any thread.
public final class ConfigurationCircuits: Sendable {
    private struct Identity: Hashable {
        let key: APNsSigningKey
        let environment: APNsEnvironment
        let service: APNsService
    }

    private let circuits = Mutex<[Identity: KeyCircuits]>([:])

    /// Knows nothing yet.
    public init() {}

    func circuits(
        of key: APNsSigningKey,
        in environment: APNsEnvironment,
        for service: APNsService,
        _ configuration: APNsConfiguration,
    ) -> KeyCircuits {
        circuits.withLock { circuits in
            let identity = Identity(key: key, environment: environment, service: service)
            if let known = circuits[identity] { return known }
            let new = KeyCircuits(shortest: configuration.shortestHold, longest: configuration.longestHold)
            circuits[identity] = new
            return new
        }
    }

    /// A key was removed or replaced.
    func forget(_ key: APNsSigningKey, in environment: APNsEnvironment) {
        circuits.withLock { circuits in
            for service in APNsService.allCases {
                circuits[Identity(key: key, environment: environment, service: service)] = nil
            }
        }
    }
}

/// The circuit of one signing key in one environment, and those of the topics that it may not push to.
///
/// A refused topic says nothing about the key's other topics: they go on.
final class KeyCircuits: Sendable {
    /// What a circuit is about.
    enum Subject: Sendable, Hashable {
        case key
        /// The value of `apns-topic`.
        case topic(String)
    }

    private let shortest: Duration
    private let longest: Duration
    private let circuits = Mutex<[Subject: ConfigurationCircuit]>([:])
    /// Read for every push.
    private let isAnyOpen = Atomic(false)

    init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
    }

    /// Whether everything may be sent.
    var areClosed: Bool { !isAnyOpen.load(ordering: .relaxed) }

    /// The topics that are refused now.
    var openTopics: [String] {
        circuits.withLock { circuits in
            circuits.compactMap { subject, circuit in
                guard case .topic(let topic) = subject, !circuit.isClosed else { return nil }
                return topic
            }
        }
    }

    /// Why APNs refuses the key, nil while it does not.
    var keyRefusal: String? { circuits.withLock { $0[.key]?.openReason } }

    /// What may be sent now. To whom it says `probe`, it is to send one push and to tell what came of it.
    func admit(_ subject: Subject, at now: MonotonicTime) -> ConfigurationCircuit.Admission {
        circuits.withLock { circuits in
            let admission = circuits[subject]?.admission(at: now) ?? .everything
            if case .probe = admission {
                circuits[subject]?.probeStarted()
            }
            return admission
        }
    }

    /// The probe ended, and nothing was learnt.
    func probeEndedWithoutAnswer(_ subject: Subject, at now: MonotonicTime) {
        circuits.withLock { $0[subject]?.probeEndedWithoutAnswer(at: now) }
    }

    /// APNs refused it.
    ///
    /// - Returns: whether that is news, which is worth an alarm.
    func refused(_ subject: Subject, reason: String, at now: MonotonicTime) -> Bool {
        circuits.withLock { circuits in
            defer { isAnyOpen.store(true, ordering: .relaxed) }
            return circuits[subject, default: ConfigurationCircuit(shortest: shortest, longest: longest)]
                .refused(reason: reason, at: now)
        }
    }

    /// APNs took it.
    ///
    /// - Returns: whether it was refused before.
    func accepted(_ subject: Subject) -> Bool {
        circuits.withLock { circuits in
            guard circuits[subject]?.isClosed == false else { return false }
            circuits[subject]?.accepted()
            isAnyOpen.store(circuits.values.contains { !$0.isClosed }, ordering: .relaxed)
            return true
        }
    }
}
