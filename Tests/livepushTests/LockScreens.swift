import TestSupport
import Testing
import VerbatimJSON

/// A gateway whose pushes reach the phones of a simulator, and what those show.
final class LockScreens {
    let gateway: GatewayUnderTest
    let simulator: SimulatorUnderTest

    /// Runs a test with a gateway whose app may start activities, and ends everything afterwards.
    ///
    /// - Parameter prepare: called before the gateway begins.
    static func run(
        flags: [String] = [],
        prepare: (GatewayUnderTest) throws -> Void = { _ in },
        _ test: (LockScreens) throws -> Void,
    ) throws {
        let gateway = try GatewayUnderTest()
        defer { gateway.end() }
        try gateway.succeed("app", "set", "--extensions", "on", "--sdk-app-id", "\(GatewayUnderTest.sdkAppID)")
        try prepare(gateway)
        let simulator = try SimulatorUnderTest(folder: gateway.folder)
        try gateway.serve(simulator.options + flags, trustsPeer: false)
        try test(LockScreens(gateway, simulator))
    }

    private init(_ gateway: GatewayUnderTest, _ simulator: SimulatorUnderTest) {
        self.gateway = gateway
        self.simulator = simulator
    }

    // MARK: - Phones

    /// Registers a phone, whose lock screen then has the card of the activity.
    ///
    /// - Parameters:
    ///   - laID: nil: no activity runs.
    ///   - appVersion: that of the app, which is told with the type.
    @discardableResult
    func register(
        _ account: String = "alice",
        phone installation: String = "phone-1",
        laID: String? = "order-1",
        appVersion: String? = nil,
    ) throws -> TestPhone {
        let phone = TestPhone(installation: installation)
        try gateway.register(account, device: phone)
        try simulator.post("/tokens", #"{"token":"\#(phone.deviceToken)","phone":"\#(installation)","kind":"device"}"#)
        if let laID {
            try register(account, activity: laID, phone, appVersion: appVersion)
        }
        return phone
    }

    /// Registers the token of an activity that the phone of the simulator shows.
    func register(
        _ account: String = "alice",
        activity laID: String,
        _ phone: TestPhone,
        attributesType: String = "RideAttributes",
        appVersion: String? = nil,
    ) throws {
        let (token, installation) = (phone.activityToken, phone.installation)
        try simulator.post(
            "/tokens",
            """
            {"token":"\(token)","phone":"\(installation)","activity":"\(laID)","attributesType":"\(attributesType)"}
            """,
        )
        let version = appVersion.map { #","attributesType":"\#(attributesType)","appVersion":"\#($0)""# } ?? ""
        let body = #"{"token":"\#(token)","businessId":1,"installation":"\#(installation)"\#(version)}"#
        let path = laID.utf8.map { "%" + String($0, radix: 16) }.joined()
        try gateway.phone(account, "PUT", "/v1/activities/\(path)", body)
    }

    /// Registers a phone without the activity, that a push may start activities on.
    ///
    /// - Parameter system: the iOS that it reports.
    @discardableResult
    func registerStart(
        _ account: String = "alice",
        phone installation: String = "phone-1",
        system: String = "18.1",
        attributesType: String = "RideAttributes",
    ) throws -> TestPhone {
        let phone = try register(account, phone: installation, laID: nil)
        let token = TestPhone.token(bytes: 64)
        try simulator.post("/tokens", #"{"token":"\#(token)","phone":"\#(installation)","kind":"start"}"#)
        let body = #"{"token":"\#(token)","businessId":1,"installation":"\#(installation)","osVersion":"\#(system)"}"#
        try gateway.phone(account, "PUT", "/v1/start-tokens/\(attributesType)", body)
        return phone
    }

    // MARK: - Messages

    /// A start of the type RideAttributes.
    static func start(
        _ laID: String = "order-7",
        state: String = #"{"step":0}"#,
        attributes: String = #"{"number":7}"#,
        members: String = #""Alert":{"title":"Ride 7","body":"is on its way"}"#,
    ) -> TestMessage {
        TestMessage {
            $0.laID = laID
            $0.event = "start"
            $0.contentState = state
            $0.activityMembers = [#""AttributesType":"RideAttributes","Attributes":\#(attributes)"#, members]
                .filter { !$0.isEmpty }.joined(separator: ",")
        }
    }

    /// Posts a message that must be accepted.
    func post(_ message: TestMessage, sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
        let answer = try gateway.post(message)
        #expect(answer["ActionStatus"]?.string == "OK", "\(answer.text)", sourceLocation: sourceLocation)
        return answer
    }

    /// Posts a message that must be refused for a field of LiveActivity.
    ///
    /// - Parameter words: what the error text must hold.
    func expectRefusal(
        _ message: TestMessage,
        of field: String,
        _ words: String...,
        sourceLocation: SourceLocation = #_sourceLocation,
    ) throws {
        let answer = try gateway.post(message)
        let text = answer["ErrorInfo"]?.string ?? ""
        let prefix = "OfflinePushInfo.ApnsInfo.LiveActivity\(field.isEmpty ? "" : ".")\(field): "
        #expect(answer["ErrorCode"]?.integer == 90043, "\(answer.text)", sourceLocation: sourceLocation)
        #expect(text.hasPrefix(prefix), "\(text)", sourceLocation: sourceLocation)
        for word in words {
            #expect(text.contains(word), "\(text)", sourceLocation: sourceLocation)
        }
    }

    // MARK: - What is seen

    /// A phone, once nothing waits any more.
    func phone(_ name: String = "phone-1") throws -> LockScreen {
        try gateway.expectSQL("SELECT count(*) FROM pending", "0")
        return try lockScreen(name)
    }

    /// A phone as it is now.
    func lockScreen(_ name: String = "phone-1") throws -> LockScreen {
        LockScreen(phone: try simulator.get("/phones/\(name)"))
    }

    /// The `aps` of each push that arrived, oldest first.
    func payloads() throws -> [JSONValue] {
        try simulator.pushes().compactMap { $0["payload"]?["aps"] }
    }

    /// A header of each push that arrived, oldest first.
    func headers(_ name: String) throws -> [String?] {
        try simulator.pushes().map { $0["headers"]?[name]?.string }
    }
}

/// What a phone of the simulator shows.
struct LockScreen {
    let phone: JSONValue

    /// The cards, in the order they came.
    var activities: [JSONValue] { phone["activities"]?.elements ?? [] }
    /// The state of each card, as it came; nil before the first push.
    var states: [String?] { activities.map { $0["contentState"].flatMap { $0.kind == .null ? nil : $0.text } } }
    /// Newest first.
    var notifications: [JSONValue] { phone["notifications"]?.elements ?? [] }
    /// Why the phone made nothing of a push, or of a part of one.
    var ignored: [String] {
        (phone["events"]?.elements ?? []).compactMap { ($0["reason"] ?? $0["ignoredPart"]?["reason"])?.string }
    }
}
