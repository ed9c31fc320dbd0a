import Testing

@testable import Gateway

@Suite("The last push of a registration while a message waits", .timeLimit(.minutes(5)))
struct RegistrationLastPushTests {
    private static let accepted = UnixTime(seconds: 1_700_000_000)
    private static let sent = UnixTime(seconds: 1_700_000_060)

    private static func record(_ kind: String, laID: String? = nil) -> RegistrationRecord {
        RegistrationRecord(
            kind: kind,
            installation: "phone-1",
            laID: laID,
            businessID: 5,
            tokenFingerprint: "0123456789ab",
            state: "live",
            registeredAt: accepted,
        )
    }

    private static func message(laID: String? = "order-1", targets: [DeliveryTarget]? = nil) -> WaitingMessage {
        WaitingMessage(
            messageID: 7,
            acceptedAt: accepted,
            laID: laID,
            event: laID.map { _ in "update" },
            reason: "no_connection",
            progress: targets.map { RecipientProgress(stage: .activity, notificationReason: "", targets: $0) },
        )
    }

    private static func target(
        _ kind: DeliveryTarget.Kind,
        _ state: DeliveryTarget.State,
        installation: String = "phone-1",
    ) -> DeliveryTarget {
        var target = DeliveryTarget(
            kind: kind,
            installation: installation,
            tokenFingerprint: "0123456789ab",
            state: state,
            reason: "activity_registered",
        )
        target.sentAt = sent
        return target
    }

    @Test(
        "before targets are known the message's activity decides whom it concerns",
        arguments: [
            (record("activity", laID: "order-1"), "order-1", true),
            (record("activity", laID: "order-1"), "order-2", false),
            (record("activity", laID: "order-1"), nil, false), (record("device"), nil, true),
            (record("device"), "order-1", false), (record("device"), "order-2", true),
        ] as [(RegistrationRecord, String?, Bool)],
    )
    func targetsUnknown(record: RegistrationRecord, laID: String?, isConcerned: Bool) {
        let push = Self.message(laID: laID).lastPush(to: record, registeredActivities: ["order-1"])
        #expect((push != nil) == isConcerned)
        #expect(push?.outcome ?? "retrying" == "retrying")
        #expect(push?.apnsReason ?? "no_connection" == "no_connection")
        #expect(push?.at ?? Self.accepted == Self.accepted)
    }

    @Test("a target that waits is retrying, for the reason of APNs or else of the wait")
    func waiting() {
        var target = Self.target(.activity, .waiting(until: Self.sent, reason: "certificate_missing"))
        let record = Self.record("activity", laID: "order-1")
        var push = Self.message(targets: [target]).lastPush(to: record, registeredActivities: [])
        #expect(push?.outcome == "retrying")
        #expect(push?.apnsReason == "certificate_missing")
        #expect(push?.at == Self.sent)
        target.status = 503
        target.statusReason = "Shutdown"
        push = Self.message(targets: [target]).lastPush(to: record, registeredActivities: [])
        #expect(push?.apnsStatus == 503)
        #expect(push?.apnsReason == "Shutdown")
    }

    @Test("a settled target has its outcome, although another one keeps the recipient waiting")
    func settled() {
        let targets = [
            Self.target(.activity, .settled(.acceptedByAPNs)),
            Self.target(.activity, .waiting(until: Self.sent, reason: "Shutdown"), installation: "phone-2"),
        ]
        let push = Self.message(targets: targets)
            .lastPush(to: Self.record("activity", laID: "order-1"), registeredActivities: ["order-1"])
        #expect(push?.outcome == "accepted_by_apns")
    }

    @Test("a registration that is no target has no push, a fallback's device has one")
    func kinds() {
        let activity = Self.target(.activity, .settled(.tokenDead))
        let device = Self.target(.device, .pushing)
        let record = Self.record("device")
        #expect(Self.message(targets: [activity]).lastPush(to: record, registeredActivities: []) == nil)
        let push = Self.message(targets: [activity, device]).lastPush(to: record, registeredActivities: [])
        #expect(push?.outcome == "retrying")
    }
}
