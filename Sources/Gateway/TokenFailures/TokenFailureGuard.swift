import EventLoop
import LiveActivity

/// Tells a wrong configuration from wrong tokens, for one bundle id of one app in one environment: a value without I/O.
///
/// One wrong bundle id or environment makes APNs answer BadDeviceToken for every token. So many different tokens that
/// fail in so short a time, with hardly a success among them, are taken for that. It looks at the time that the last
/// failures took, not at a fixed one, so that an app that sent a million pushes a minute ago is guarded as soon as it
/// breaks.
struct TokenFailureGuard: Sendable, Equatable {
    /// The guard is up while fewer than one of so many answers is a success.
    static let answersPerSuccess = 10
    /// How many counts of the past are kept, a second or more apart: longer than a push takes.
    private static let countsKept = 60

    private struct Count: Sendable, Equatable {
        var at: MonotonicTime
        var successes: Int64
    }

    private struct Failure: Sendable, Equatable {
        var token: PushToken
        var at: MonotonicTime
        /// How many pushes had been accepted before it was sent.
        var successesBefore: Int64
    }

    let rules: TokenFailureRules
    /// The newest failures of different tokens, oldest first, at most ``TokenFailureRules/failures``.
    private var recent: [Failure] = []
    private var successes: Int64 = 0
    /// How many successes there had been, now and then, oldest first.
    private var counts: [Count] = []
    private var lastSuccess: MonotonicTime?
    private(set) var isUp = false

    init(_ rules: TokenFailureRules = TokenFailureRules()) {
        self.rules = rules
    }

    /// A token failed in every environment that it was tried in.
    ///
    /// - Parameter sentAt: when its first push was sent; nil: now. What succeeded since then speaks against a wrong
    ///   configuration: of many pushes at once, the failures may all be known last, since they are tried twice.
    /// - Returns: whether the guard goes up with it.
    mutating func failed(_ token: PushToken, sentAt: MonotonicTime? = nil, at now: MonotonicTime) -> Bool {
        if let last = recent.last, now - last.at >= rules.rest {
            isUp = false
        }
        recent.removeAll { $0.token == token }
        recent.append(Failure(token: token, at: now, successesBefore: successes(before: sentAt ?? now)))
        if recent.count > rules.failures {
            recent.removeFirst()
        }
        guard recent.count == rules.failures, let first = recent.first else { return false }
        guard !isUp, now - first.at <= rules.window, successesAreRare else { return false }
        isUp = true
        return true
    }

    /// APNs accepted a push.
    ///
    /// - Returns: whether the guard goes down with it.
    mutating func succeeded(_ token: PushToken, at now: MonotonicTime) -> Bool {
        if counts.last.map({ now - $0.at >= .seconds(1) }) ?? true {
            counts.append(Count(at: now, successes: successes))
            if counts.count > TokenFailureGuard.countsKept { counts.removeFirst() }
        }
        successes += 1
        lastSuccess = now
        guard !recent.isEmpty else { return false }
        recent.removeAll { $0.token == token }
        guard isUp, !successesAreRare else { return false }
        isUp = false
        return true
    }

    /// Whether a push was accepted lately, so that key, bundle id and environment are known to be right.
    func isProven(at now: MonotonicTime) -> Bool {
        lastSuccess.map { now - $0 < rules.proof } ?? false
    }

    /// How many successes there had been, to the second.
    private func successes(before time: MonotonicTime) -> Int64 {
        if let lastSuccess, time < lastSuccess {
            (counts.last { $0.at <= time } ?? counts.first)?.successes ?? 0
        } else {
            successes
        }
    }

    /// Whether hardly a push was accepted since the first of the recent failures was sent.
    private var successesAreRare: Bool {
        guard let first = recent.map(\.successesBefore).min() else { return false }
        let since = successes - first
        return since * Int64(TokenFailureGuard.answersPerSuccess) < since + Int64(recent.count)
    }
}
