import APNs

/// What an answer of APNs means for the target it was sent to.
enum PushVerdict: Sendable, Equatable {
    case accepted
    /// The token will not work again; registrations made later than the time are not meant.
    case dead(invalidSince: UnixTime?)
    /// The token is unknown there: most often it belongs to the other environment.
    case tryOtherEnvironment
    /// Not to be repeated.
    case refused
    /// An operator has to mend something; the push waits. Or only for a moment, while it is found out whether it is so.
    case hold(isUnconfirmed: Bool)
    case retryAfterTooMany(seconds: Int64?)
    /// Later; where APNs said when, not before that.
    case retry(after: Int64?)
    /// It never left: no attempt was made. It waits for its turn.
    case notSent

    static func of(_ outcome: APNsOutcome) -> PushVerdict {
        switch outcome {
        case .unanswered(let failure, mayHaveBeenProcessed: false)
        where failure.kind == .backlogged || failure.kind == .timeout:
            // Turned away, or grown too old before a stream was free.
            .notSent
        case .unanswered: .retry(after: nil)
        case .held(let hold): .hold(isUnconfirmed: hold.isUnconfirmed)
        case .responded(let response): of(APNsReaction.of(response), response.retryAfterSeconds)
        }
    }

    private static func of(_ reaction: APNsReaction, _ retryAfter: Int64?) -> PushVerdict {
        switch reaction {
        case .accepted: .accepted
        case .tokenDead(let milliseconds):
            .dead(
                invalidSince: milliseconds.flatMap { milliseconds in
                    let (microseconds, overflow) = milliseconds.multipliedReportingOverflow(by: 1000)
                    return overflow ? nil : UnixTime(microseconds: microseconds)
                }
            )
        case .suspectToken: .tryOtherEnvironment
        case .wrongTopic, .payloadTooLarge, .requestFault, .recipientRefused: .refused
        case .configurationFault: .hold(isUnconfirmed: false)
        case .tooManyRequests(let seconds): .retryAfterTooMany(seconds: seconds)
        default: .retry(after: retryAfter)
        }
    }
}
