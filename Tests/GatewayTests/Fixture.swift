import APNs
import LiveActivity

@testable import Gateway

/// What the tests of deliveries start from: one app with a certificate for both environments, one update to one
/// activity, one recipient.
enum Fixture {
    /// When the message was accepted.
    static let accepted = UnixTime(seconds: 1_796_007_172)
    static let lifetime: Int64 = 3600

    /// A throw-away key, used nowhere else.
    static let keyText = """
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgH+A3FEF2vZKWEutUmP/UyAn2e8i0fNDznMw7IUQ2vOeh\
        RANCAARra3QLNIRcNDO1FktLuUg/A+css3ivWpQ9u9GhYCIqpZxnVjhRnP3u6u81FvZNgZGVA46zEx6/x/v+WQKV61rb
        """

    static func key() throws -> APNsSigningKey {
        try APNsSigningKey(privateKey: Array(keyText.utf8), teamID: "TEAM567890", keyID: "KEY4567890")
    }

    static func certificate(
        _ businessID: Int64 = 1,
        _ scope: Certificate.Scope = .both,
        bundleID: String = "com.example.app",
    ) throws -> Certificate {
        Certificate(businessID: businessID, bundleID: bundleID, key: try key(), scope: scope)
    }

    static func token(_ number: UInt8) throws -> PushToken {
        try PushToken(bytes: [UInt8](repeating: number, count: 80))
    }

    static func content(_ event: ActivityEvent = .update) -> ActivityContent {
        ActivityContent(event: event, contentState: Array(#"{"step":1.0}"#.utf8))
    }

    static func digest(of state: String) -> Int64 {
        ActivityContent(event: .update, contentState: Array(state.utf8)).stateDigest
    }

    static let text = NotificationContent(title: "Order 7", body: "On its way")

    static func order(
        _ activity: ActivityInstruction? = ActivityInstruction(
            laID: "order-7",
            content: content(),
            defaultDismissal: .immediate,
        ),
        notification: NotificationContent = text,
        suppression: PushOrder.Suppression? = nil,
        recipients: [String] = ["alice"],
        lifetime: Int64 = lifetime,
        sdkAppID: Int64 = 1_400_000_000,
    ) -> PushOrder {
        PushOrder(
            dialect: .tencent,
            endpoint: "openim/sendmsg",
            sdkAppID: sdkAppID,
            messageKey: "1_2_3",
            sender: "administrator",
            recipients: recipients,
            activity: activity,
            notification: notification,
            suppression: suppression,
            lifetime: lifetime,
        )
    }

    static func end() -> ActivityInstruction {
        ActivityInstruction(laID: "order-7", content: content(.end), defaultDismissal: .immediate)
    }

    static func application() -> Application {
        Application(sdkAppID: 1_400_000_000, secretKey: [], administrators: ["administrator"])
    }

    static func message(
        _ order: PushOrder = order(),
        application: Application = application(),
        certificates: [Certificate]? = nil,
        unreadable: [Int64: UnreadableSecrets.Certificate] = [:],
    ) throws -> MessageUnderWay {
        let certificates = try certificates ?? [certificate()]
        return MessageUnderWay(
            receipt: AcceptedMessage(id: 42, acceptedAt: accepted),
            order: order,
            deadline: accepted + .seconds(order.lifetime),
            application: application,
            certificates: Dictionary(uniqueKeysWithValues: certificates.map { ($0.businessID, $0) }),
            unreadable: unreadable,
        )
    }

    static func activity(
        _ installation: String = "phone-1",
        token number: UInt8 = 1,
        verdict: ClaimedActivity.Verdict = .claimed,
        environment: APNsEnvironment? = .production,
        businessID: Int64 = 1,
        startedAt: UnixTime = accepted,
        sendableFrom: UnixTime? = nil,
        isBudgetSpent: Bool = false,
        hasBadDays: Bool = false,
    ) throws -> ClaimedActivity {
        ClaimedActivity(
            verdict: verdict,
            installation: installation,
            token: try token(number),
            businessID: businessID,
            environment: environment,
            timestamp: 1_796_007_173,
            startedAt: startedAt,
            sendableFrom: sendableFrom,
            isBudgetSpent: isBudgetSpent,
            hasBadDays: hasBadDays,
        )
    }

    static func device(
        _ installation: String = "phone-1",
        token number: UInt8 = 101,
        environment: APNsEnvironment? = .production,
        foregroundUntil: UnixTime? = nil,
        deniesNotifications: Bool = false,
        language: String? = nil,
        badge: Int64? = nil,
        hasBadDays: Bool = false,
        isQuarantined: Bool = false,
    ) throws -> FoundDevice {
        FoundDevice(
            installation: installation,
            token: try token(number),
            businessID: 1,
            environment: environment,
            foregroundUntil: foregroundUntil,
            deniesNotifications: deniesNotifications,
            language: language,
            badge: badge,
            hasBadDays: hasBadDays,
            isQuarantined: isQuarantined,
        )
    }
}

extension APNsOutcome {
    static let accepted = APNsOutcome.responded(APNsResponse(status: 200))

    static func refused(_ status: Int, _ reason: String) -> APNsOutcome {
        .responded(APNsResponse(status: status, reason: reason))
    }

    /// 410 with the time since when the token is invalid.
    static func dead(since time: UnixTime?) -> APNsOutcome {
        .responded(
            APNsResponse(
                status: 410,
                reason: "Unregistered",
                timestampMilliseconds: time.map { $0.microseconds / 1000 },
            )
        )
    }

    static let lost = APNsOutcome.unanswered(APNsFailure(.connectionLost), mayHaveBeenProcessed: true)
}
