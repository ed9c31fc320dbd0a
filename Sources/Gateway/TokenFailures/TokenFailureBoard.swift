import APNs
import EventLoop
import LiveActivity
import Synchronization

/// The ``TokenFailureGuard`` of each bundle id and environment, shared by the lanes of a process.
///
/// What a process learned is gone when it ends: the next one lets the first failures of a wrong configuration pass for
/// those of their tokens, and none of them blames a token, since nothing is proven yet.
final class TokenFailureBoard: Sendable {
    /// Where tokens of one app work or fail together.
    struct Place: Sendable, Hashable {
        var sdkAppID: Int64
        var bundleID: String
        var environment: APNsEnvironment
    }

    /// What a failure means.
    struct Judgement: Sendable, Equatable {
        var suspicion: TokenSuspicion
        /// Where the guard is up, if that is why.
        var guarded: [Place] = []
        /// Where it went up with this failure.
        var newlyGuarded: [Place] = []
    }

    /// Held for a few look-ups in a small table, by each push that APNs answers.
    private let guards = Mutex<[Place: TokenFailureGuard]>([:])
    let rules: TokenFailureRules

    init(_ rules: TokenFailureRules = TokenFailureRules()) {
        self.rules = rules
    }

    /// Every environment that was asked answered BadDeviceToken.
    ///
    /// - Parameters:
    ///   - places: what was asked.
    ///   - known: where the token is known to belong; nil: it may belong to any of `places`.
    ///   - sentAt: when its first push was sent; nil: now.
    func failed(
        _ token: PushToken,
        in places: [Place],
        known: APNsEnvironment?,
        sentAt: MonotonicTime? = nil,
        at now: MonotonicTime,
    ) -> Judgement {
        // What another environment than its own answers says nothing about either.
        let own = places.contains { $0.environment == known } ? places.filter { $0.environment == known } : places
        return guards.withLock { guards in
            let newlyGuarded = own.filter {
                guards[$0, default: TokenFailureGuard(rules)].failed(token, sentAt: sentAt, at: now)
            }
            let guarded = own.filter { guards[$0]?.isUp == true }
            let isProven = own.contains { !guarded.contains($0) && guards[$0]?.isProven(at: now) == true }
            // Its environment unknown, it may belong where the others work, and the app need not be used in the other.
            if isProven { return Judgement(suspicion: .tokenFault) }
            if guarded.isEmpty { return Judgement(suspicion: .unproven) }
            return Judgement(suspicion: .configurationFault, guarded: guarded, newlyGuarded: newlyGuarded)
        }
    }

    /// APNs accepted a push there.
    ///
    /// - Returns: whether the guard of the place goes down with it.
    func succeeded(_ token: PushToken, in place: Place, at now: MonotonicTime) -> Bool {
        guards.withLock { $0[place, default: TokenFailureGuard(rules)].succeeded(token, at: now) }
    }
}
