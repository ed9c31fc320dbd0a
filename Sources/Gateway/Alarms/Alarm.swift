import APNs
import PostgresClient

/// A fault that a person must act on, as a gateway notices it: a row of the table `alarm`. Holds no token, no secret and
/// no content.
struct Alarm: Sendable, Equatable {
    /// What is wrong.
    enum Kind: String, Sendable {
        /// APNs refuses the signing key, or the key cannot sign.
        case signingKeyRefused = "signing_key_refused"
        /// APNs refuses the provider token although the key may be good: a clock is wrong, or the key is shared.
        case providerTokenRefused = "provider_token_refused"
        /// The key may not push to the bundle id.
        case topicRefused = "topic_refused"
        /// No connection to APNs can be made.
        case apnsUnreachable = "apns_unreachable"
        /// A token belongs to another bundle id than its certificate's.
        case wrongTopic = "wrong_topic"
        /// APNs knows hardly any token of a bundle id: the bundle id or the environment is wrong.
        case massTokenFailure = "mass_token_failure"
        /// APNs calls a request faulty: a fault of this program.
        case requestRefused = "request_refused"
        /// A sealed secret or key cannot be opened or used with this master key.
        case secretNotReadable = "secret_not_readable"
        /// PostgreSQL refused a statement that no repeat will mend.
        case databaseRefused = "database_refused"

        /// After how many seconds it counts as over if it is not seen again; nil: a push that APNs takes ends it.
        var fadesAfterSeconds: Int64? {
            switch self {
            case .signingKeyRefused, .providerTokenRefused, .topicRefused, .apnsUnreachable: nil
            case .wrongTopic, .massTokenFailure, .requestRefused, .databaseRefused: 3600
            // Seen again each time the configuration is read.
            case .secretNotReadable: 120
            }
        }
    }

    /// What makes an alarm one row.
    struct Key: Sendable, Hashable {
        var kind: Kind
        /// 0: not one app.
        var sdkAppID: Int64
        var subject: String
    }

    var key: Key
    var businessID: Int64?
    var environment: APNsEnvironment?
    /// Which of a phone's tokens it is about, where that matters.
    var route: DeliveryTarget.Kind?
    /// What was seen, in words.
    var detail: String
}

extension Alarm {
    /// What an answer of APNs, or a push that was not sent, says about key, topic or request; nil: nothing that a person
    /// must see at once.
    init?(_ outcome: APNsOutcome, for attempt: PushAttempt, of message: MessageUnderWay) {
        let kind: Kind
        let reason: String
        switch outcome {
        case .unanswered(let failure, _):
            guard failure.kind == .connectFailed else { return nil }
            let environment = attempt.destination.environment
            self.init(
                key: Key(kind: .apnsUnreachable, sdkAppID: 0, subject: environment.rawValue),
                environment: environment,
                detail: "no connection to APNs in \(environment.rawValue): \(failure.detail)",
            )
            return
        case .held(let hold):
            // Whether anything is wrong is not known yet.
            if hold.isUnconfirmed { return nil }
            reason = hold.reason
            if hold.isAboutTopic {
                kind = .topicRefused
            } else {
                kind = reason == "ExpiredProviderToken" ? .providerTokenRefused : .signingKeyRefused
            }
        case .responded(let response):
            reason = response.reason ?? "status \(response.status)"
            switch APNsReaction.of(response) {
            case .configurationFault:
                kind = APNsReaction.refusesKey(reason) ? .signingKeyRefused : .topicRefused
            case .expiredProviderToken, .tooManyProviderTokenUpdates: kind = .providerTokenRefused
            case .wrongTopic: kind = .wrongTopic
            case .requestFault: kind = .requestRefused
            default: return nil
            }
        }
        let destination = attempt.destination
        let isPerRoute = kind != .signingKeyRefused && kind != .providerTokenRefused
        let route: DeliveryTarget.Kind? = isPerRoute ? attempt.isActivity ? .activity : .device : nil
        let subject = [
            "\(destination.certificate.businessID)", destination.environment.rawValue, route?.rawValue, reason,
        ]
        self.init(
            key: Key(
                kind: kind,
                sdkAppID: message.order.sdkAppID,
                subject: subject.compactMap { $0 }.joined(separator: "/"),
            ),
            businessID: destination.certificate.businessID,
            environment: destination.environment,
            route: route,
            detail: Alarm.detail(kind, reason, attempt, message),
        )
    }

    private static func detail(
        _ kind: Kind,
        _ reason: String,
        _ attempt: PushAttempt,
        _ message: MessageUnderWay,
    ) -> String {
        let certificate = attempt.destination.certificate
        let place = "in \(attempt.destination.environment.rawValue)"
        let example = "such as of message_id \(message.receipt.id), token \(attempt.token.fingerprint)"
        switch kind {
        case .signingKeyRefused:
            return "APNs refuses the signing key \(certificate.key.keyID) \(place): \(reason)"
        case .providerTokenRefused:
            return "APNs refuses the provider tokens of the key \(certificate.key.keyID) \(place): \(reason)"
        case .topicRefused:
            let what = attempt.isActivity ? "Live Activity pushes" : "notifications"
            return
                "the key \(certificate.key.keyID) may not send \(what) to \(certificate.bundleID) \(place): \(reason)"
        case .wrongTopic:
            return "tokens do not belong to \(certificate.bundleID) \(place), \(example)"
        case .requestRefused, .massTokenFailure, .secretNotReadable, .databaseRefused, .apnsUnreachable:
            return "APNs calls pushes faulty \(place): \(reason), \(example)"
        }
    }

    /// A secret of an app, or the key of a certificate, that this gateway cannot use.
    static func notReadable(sdkAppID: Int64, businessID: Int64?, because error: String) -> Alarm {
        let what = businessID.map { "the .p8 key of businessId \($0)" } ?? "the secret key of the app"
        return Alarm(
            key: Key(kind: .secretNotReadable, sdkAppID: sdkAppID, subject: businessID.map { "\($0)" } ?? "app"),
            businessID: businessID,
            detail: "\(what) cannot be used: \(error)",
        )
    }

    /// The master key of this gateway opens none of a kind of secrets.
    static func wrongMasterKey(_ obstacle: String) -> Alarm {
        Alarm(
            key: Key(kind: .secretNotReadable, sdkAppID: 0, subject: "master key"),
            detail: "\(obstacle); the gateway is not ready and leaves the work to others",
        )
    }

    /// So many tokens fail that the configuration must be wrong.
    static func massTokenFailure(
        of failures: Int,
        in place: TokenFailureBoard.Place,
        businessID: Int64,
    ) -> Alarm {
        Alarm(
            key: Key(
                kind: .massTokenFailure,
                sdkAppID: place.sdkAppID,
                subject: "\(place.bundleID)/\(place.environment.rawValue)",
            ),
            businessID: businessID,
            environment: place.environment,
            detail: "\(failures) or more different tokens of \(place.bundleID) failed with "
                + "BadDeviceToken in \(place.environment.rawValue), and hardly a push was accepted",
        )
    }

    /// A statement that PostgreSQL refused.
    ///
    /// - Parameter work: what it was for, in words.
    static func databaseRefused(_ error: PostgresError, for work: StaticString) -> Alarm {
        Alarm(
            key: Key(kind: .databaseRefused, sdkAppID: 0, subject: "\(work)/\(error.sqlState ?? "no SQLSTATE")"),
            detail: "PostgreSQL refused \(work): \(error)",
        )
    }
}
