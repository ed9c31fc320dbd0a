import APNs

/// What is stored and cannot be used by this gateway: its master key is not the one that sealed it, or the row is
/// damaged. Another gateway of the same database may well be able to.
final class UnreadableSecrets: Sendable {
    /// Why a push waits for such a secret, and why a message ends whose deadline passed meanwhile.
    static let reason = "secret_not_readable"

    /// A certificate without its key.
    struct Certificate: Sendable {
        var bundleID: String
        /// nil: of a newer release.
        var scope: Gateway.Certificate.Scope?
    }

    /// How many secrets of one kind there are, and how many the master key opens.
    struct Count: Sendable {
        var stored = 0
        var opened = 0

        /// Counts one.
        mutating func add(isOpen: Bool) {
            stored += 1
            if isOpen { opened += 1 }
        }

        /// Whether the key is wrong rather than a row damaged.
        var isLocked: Bool { stored > 0 && opened == 0 }
    }

    /// Apps whose secret key is not readable: all else that is configured for them.
    let applications: [Int64: Application]
    /// By app and businessId.
    let certificates: [Int64: [Int64: Certificate]]
    /// Apps none of whose keys is readable: their messages are left to other gateways, until their deadlines.
    let leftToOthers: [Int64]
    /// Apps some of whose keys are readable: of their messages, what waits for another key is left to other gateways
    /// first.
    let sharedWithOthers: [Int64]
    /// Of which kinds of secrets none is readable, in words; nil: of none.
    let obstacle: String?

    /// - Parameters:
    ///   - usable: the apps that have a certificate whose key is readable.
    ///   - counts: of the secret keys of apps, and of the keys of certificates.
    /// - Returns: nil where everything is readable.
    init?(
        applications: [Int64: Application],
        certificates: [Int64: [Int64: Certificate]],
        usable: Set<Int64>,
        counts: (applications: Count, certificates: Count),
    ) {
        guard !applications.isEmpty || !certificates.isEmpty else { return nil }
        self.applications = applications
        self.certificates = certificates
        leftToOthers = certificates.keys.filter { !usable.contains($0) }.sorted()
        sharedWithOthers = certificates.keys.filter(usable.contains).sorted()
        let kinds = [
            counts.applications.isLocked ? "the secret keys of apps (\(counts.applications.stored))" : nil,
            counts.certificates.isLocked ? "the keys of certificates (\(counts.certificates.stored))" : nil,
        ].compactMap { $0 }
        obstacle =
            kinds.isEmpty
            ? nil
            : "LIVEPUSH_MASTER_KEY opens none of \(kinds.joined(separator: " and none of ")) in this database: it is "
                + "not the key that sealed them"
    }

    /// How many there are.
    var count: Int { applications.count + certificates.values.reduce(0) { $0 + $1.count } }

    /// Whether rows of any app are left to other gateways.
    var leavesWork: Bool { !certificates.isEmpty }

    /// Whether the messages of an app are left to other gateways.
    func leaves(_ sdkAppID: Int64) -> Bool {
        leftToOthers.contains(sdkAppID)
    }
}
