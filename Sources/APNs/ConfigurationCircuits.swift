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
    /// Read for every answer.
    private let knowsOfRefusals = Atomic(false)

    init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
    }

    /// Whether everything may be sent.
    var areClosed: Bool { !isAnyOpen.load(ordering: .relaxed) }

    /// Whether nobody was refused lately: an acceptance is no news.
    var areQuiet: Bool { !knowsOfRefusals.load(ordering: .relaxed) }

    /// What is refused now, and why.
    var openReasons: [(subject: Subject, reason: String)] {
        circuits.withLock { circuits in
            circuits.compactMap { subject, circuit in circuit.openReason.map { (subject, $0) } }
        }
    }

    /// What may be sent now. Where it says `probe`, that push is to be sent, and what came of it to be told.
    ///
    /// - Parameter recipients: to whom the pushes are that wait; asked only where not everything may be sent.
    func admit(
        _ subject: Subject,
        _ recipients: @autoclosure () -> [ConfigurationCircuit.Recipient?],
        at now: MonotonicTime,
    ) -> ConfigurationCircuit.Admission {
        circuits.withLock { circuits in
            guard circuits[subject]?.isClosed == false else { return .everything }
            return circuits[subject]?.admit(recipients(), at: now) ?? .everything
        }
    }

    /// The probe ended, and nothing was learnt.
    func probeEndedWithoutAnswer(_ subject: Subject, at now: MonotonicTime) {
        circuits.withLock { $0[subject]?.probeEndedWithoutAnswer(at: now) }
    }

    /// APNs refused it, with a push to this recipient; nil: with nobody's in particular.
    func refused(
        _ subject: Subject,
        reason: String,
        of recipient: ConfigurationCircuit.Recipient?,
        at now: MonotonicTime,
    ) -> ConfigurationCircuit.Finding {
        circuits.withLock { circuits in
            defer { note(circuits) }
            // Apple's reasons for a key are about the token that it signs, which all recipients share.
            let new = ConfigurationCircuit(shortest: shortest, longest: longest, asksAnother: subject != .key)
            return circuits[subject, default: new].refused(reason: reason, of: recipient, at: now)
        }
    }

    /// APNs took it.
    ///
    /// - Returns: whether it was refused before.
    func accepted(
        _ subject: Subject,
        of recipient: ConfigurationCircuit.Recipient?,
        at now: MonotonicTime,
    ) -> Bool {
        circuits.withLock { circuits in
            guard circuits[subject]?.isQuiet == false else { return false }
            let wasOpen = circuits[subject]?.accepted(of: recipient, at: now) ?? false
            note(circuits)
            return wasOpen
        }
    }

    private func note(_ circuits: [Subject: ConfigurationCircuit]) {
        isAnyOpen.store(circuits.values.contains { !$0.isClosed }, ordering: .relaxed)
        knowsOfRefusals.store(circuits.values.contains { !$0.isQuiet }, ordering: .relaxed)
    }
}
