import APNs

/// Whether the stored provider token serves, or a new one is made: a value without I/O.
///
/// PostgreSQL's clock tells a token's age to a process that has not seen it before; a process that has it goes by its own
/// monotonic clock, so that no clock step makes a second token within 20 minutes.
enum ProviderTokenDecision: Equatable {
    case use(IssuedProviderToken)
    case mint
    /// There is one that cannot be read and must not be replaced yet.
    case wait

    /// The row as it was read.
    struct Stored: Equatable {
        /// nil: it does not open.
        var text: String?
        var issuedAt: Int64
        /// By PostgreSQL's clock.
        var age: Duration
    }

    init(on stored: Stored?, for request: ProviderTokenRequest, _ rules: ProviderTokenRules) {
        guard let stored else {
            self = .mint
            return
        }
        let known = request.known.flatMap { $0.issuedAt == stored.issuedAt ? $0 : nil }
        let age = known?.age ?? stored.age
        let isBad = stored.text == nil || known?.wasRefused == true
        if age >= (isBad ? rules.shortestLife : rules.replacedAfter) {
            self = .mint
        } else if let text = stored.text {
            self = .use(IssuedProviderToken(text: text, issuedAt: stored.issuedAt, age: age))
        } else {
            self = .wait
        }
    }
}
