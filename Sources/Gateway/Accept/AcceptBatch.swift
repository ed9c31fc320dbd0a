/// Which requests of one transaction are the same as an earlier one in it: PostgreSQL inserts or updates a row once in a
/// statement, so only the first of them goes into it.
struct AcceptBatch: Equatable {
    /// The places of the requests that are not repeats of an earlier one, in order.
    private(set) var firsts: [Int] = []
    /// How often each of them is repeated.
    private(set) var repeats: [Int64] = []
    /// For every request, which of `firsts` stands for it.
    private var groups: [Int] = []

    /// - Parameter digests: of the requests, in order; nil is never the same as another.
    init(_ digests: [RequestDigest?]) {
        var known: [RequestDigest: Int] = [:]
        for (place, digest) in digests.enumerated() {
            if let digest, let group = known[digest] {
                repeats[group] += 1
                groups.append(group)
                continue
            }
            if let digest {
                known[digest] = firsts.count
            }
            groups.append(firsts.count)
            firsts.append(place)
            repeats.append(0)
        }
    }

    /// What every request became.
    ///
    /// - Parameter accepted: what became of each of `firsts`.
    func answers(_ accepted: [Acceptance]) -> [Acceptance] {
        var isAnswered = [Bool](repeating: false, count: accepted.count)
        var answers: [Acceptance] = []
        for group in groups where accepted.indices.contains(group) {
            let first = accepted[group]
            answers.append(
                Acceptance(
                    message: first.message,
                    messageKey: first.messageKey,
                    isRepeat: first.isRepeat || isAnswered[group],
                )
            )
            isAnswered[group] = true
        }
        return answers
    }
}
