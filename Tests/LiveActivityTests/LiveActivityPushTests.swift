import LiveActivity
import Testing
import VerbatimJSON

@Suite("A whole Live Activity push", .timeLimit(.minutes(5)))
struct LiveActivityPushTests {
    private static let now: Int64 = 1_796_007_172
    private static let channel = "dHN0LXNyY2gtY2hubA=="

    /// A start with everything, as the payload builder page has it.
    private static func start() -> LiveActivityPush {
        LiveActivityPush(
            bundleID: "com.example.app",
            content: ActivityContent(
                event: .start,
                contentState: Array(#"{"driver":"Ana","minutes":12.0}"#.utf8),
                staleDate: Self.now + 900,
                relevanceScore: Array("100".utf8),
                alert: ActivityAlert(title: "Your order", body: "Ana is on her way", sound: "default"),
                start: ActivityStart(
                    attributesType: "DeliveryAttributes",
                    attributes: Array(#"{"orderNumber":"A1042"}"#.utf8),
                    wantsPushToken: true,
                ),
            ),
            timestamp: Self.now,
            collapseID: "A1042",
        )
    }

    private static func update() -> LiveActivityPush {
        LiveActivityPush(
            bundleID: "com.example.app",
            content: ActivityContent(event: .update, contentState: Array(#"{"minutes":12}"#.utf8)),
            timestamp: Self.now,
        )
    }

    private static func broadcast(_ storage: ChannelStorage) -> LiveActivityPush {
        LiveActivityPush(
            bundleID: "com.example.app",
            destination: .channel(Self.channel, storage: storage),
            content: ActivityContent(event: .update, contentState: Array(#"{"minutes":12}"#.utf8)),
            timestamp: Self.now,
        )
    }

    // MARK: - What goes out

    @Test("C62, C67: a start has type, attributes, state, alert and the token request, byte for byte")
    func startPayload() throws {
        let expected = """
            {"aps":{"timestamp":1796007172,"event":"start","content-state":{"driver":"Ana","minutes":12.0},\
            "attributes-type":"DeliveryAttributes","attributes":{"orderNumber":"A1042"},"input-push-token":1,\
            "stale-date":1796008072,"relevance-score":100,\
            "alert":{"title":"Your order","body":"Ana is on her way","sound":"default"}}}
            """
        #expect(String(decoding: Self.start().payload, as: UTF8.self) == expected)
        #expect(Self.start().findings(now: Self.now, system: IOSVersion(major: 18, minor: 0)).isEmpty)
    }

    @Test("C69: a start for a channel names the channel, and on iOS 17 it is a plain start")
    func startOnChannel() {
        var push = Self.start()
        push.content.start?.wantsPushToken = false
        push.content.start?.pushChannel = Self.channel
        #expect(push.findings(now: Self.now).isEmpty)
        #expect(String(decoding: push.payload, as: UTF8.self).contains(#""input-push-channel":"dHN0LXNyY2gtY2hubA==""#))
        for system in [IOSVersion(parsing: "17.4.1"), nil] {
            var plain = push
            plain.content.start = push.content.start?.adapted(to: system)
            #expect(!String(decoding: plain.payload, as: UTF8.self).contains("input-push"))
            #expect(plain.content.start?.attributesType == "DeliveryAttributes")
        }
        #expect(push.content.start?.adapted(to: IOSVersion(parsing: "iOS 18.1")) == push.content.start)
    }

    @Test("C67: an update without alert has no such key, and fields of a start stay out of it")
    func updateWithoutAlert() {
        var push = Self.update()
        push.content.start = Self.start().content.start
        let expected = #"{"aps":{"timestamp":1796007172,"event":"update","content-state":{"minutes":12}}}"#
        #expect(String(decoding: push.payload, as: UTF8.self) == expected)
    }

    @Test("An end without state has no such key")
    func endWithoutState() {
        var push = Self.update()
        push.content.event = .end
        push.content.contentState = []
        push.content.dismissalDate = 0
        #expect(
            String(decoding: push.payload, as: UTF8.self)
                == #"{"aps":{"timestamp":1796007172,"event":"end","dismissal-date":0}}"#
        )
        #expect(push.findings(now: Self.now).map(\.code) == [.contentStateMissing])
    }

    @Test("C72: a start is stored for minutes and carries its collapse id")
    func startHeaders() {
        #expect(
            Self.start().headers.map { "\($0.name): \($0.value)" } == [
                "apns-topic: com.example.app.push-type.liveactivity", "apns-push-type: liveactivity",
                "apns-priority: 10", "apns-expiration: 1796007472", "apns-collapse-id: A1042",
            ]
        )
    }

    @Test(
        "C76: a broadcast has its channel, no topic, the plain bundle id in its path, and expiration 0 without storage"
    )
    func broadcastHeaders() {
        var push = Self.broadcast(.none)
        push.collapseID = "x"
        push.id = "8af5e1b2-6a0c-4f8d-9b35-0123456789ab"
        #expect(
            push.headers.map { "\($0.name): \($0.value)" } == [
                "apns-channel-id: \(Self.channel)", "apns-push-type: liveactivity", "apns-priority: 10",
                "apns-expiration: 0", "apns-request-id: 8af5e1b2-6a0c-4f8d-9b35-0123456789ab",
            ]
        )
        #expect(push.path(token: "") == "/4/broadcasts/apps/com.example.app")
        #expect(push.findings(now: Self.now).map(\.code) == [.collapseIDIgnored])
        #expect(Self.broadcast(.mostRecent).headers[3].value == String(Self.now + 28_800))
        #expect(Self.broadcast(.mostRecent).findings(now: Self.now).isEmpty)
    }

    @Test("C82: text goes out as UTF-8, slashes unescaped")
    func text() {
        let title = String(repeating: "界", count: 1200)
        let url = "https://example.com" + String(repeating: "/a", count: 40)
        var push = Self.update()
        push.content.alert = ActivityAlert(title: .plain(title), body: .localized(key: "k/%@", arguments: [url]))
        let body = String(decoding: push.payload, as: UTF8.self)
        #expect(body.contains(title) && body.contains(url) && !body.contains("\\"))
        #expect(push.findings(now: Self.now).isEmpty)
    }

    // MARK: - Mistakes, each on a push that is right otherwise

    typealias Change = @Sendable (inout LiveActivityPush) -> Void

    /// A push with one mistake.
    struct Mistake: Sendable, CustomTestStringConvertible {
        var push: LiveActivityPush
        let code: PayloadFinding.Code
        let name: String
        let severity: PayloadFinding.Severity

        init(
            _ push: LiveActivityPush,
            _ code: PayloadFinding.Code,
            _ name: String,
            _ severity: PayloadFinding.Severity,
            _ change: (inout LiveActivityPush) -> Void,
        ) {
            self.push = push
            self.code = code
            self.name = name
            self.severity = severity
            change(&self.push)
        }

        var testDescription: String { "\(self.push.content.event) \(self.code.rawValue)" }
    }

    private static let mistakes: [Mistake] = [
        // Start
        Mistake(start(), .alertMissing, "aps.alert", .refusal) { $0.content.alert = nil },
        Mistake(start(), .alertMissing, "aps.alert", .refusal) { $0.content.alert = ActivityAlert() },
        Mistake(start(), .alertMissing, "aps.alert", .refusal) {
            $0.content.alert = ActivityAlert(title: "", sound: "default")
        },
        Mistake(start(), .alertIncomplete, "aps.alert", .warning) { $0.content.alert?.body = nil },
        Mistake(start(), .alertIncomplete, "aps.alert", .warning) { $0.content.alert?.title = "" },
        Mistake(start(), .attributesTypeMissing, "aps.attributes-type", .refusal) {
            $0.content.start?.attributesType = ""
        },
        Mistake(start(), .attributesTypeForm, "aps.attributes-type", .warning) {
            $0.content.start?.attributesType = "Shop.DeliveryAttributes"
        },
        Mistake(start(), .attributesMissing, "aps.attributes", .refusal) { $0.content.start?.attributes = [] },
        Mistake(start(), .notAnObject, "aps.attributes", .refusal) {
            $0.content.start?.attributes = Array(#""A1042""#.utf8)
        },
        Mistake(start(), .invalidJSON, "aps.attributes", .refusal) {
            $0.content.start?.attributes = Array("{a:1}".utf8)
        },
        Mistake(start(), .contentStateMissing, "aps.content-state", .refusal) { $0.content.contentState = [] },
        Mistake(start(), .inputConflict, "aps.input-push-channel", .refusal) {
            $0.content.start?.pushChannel = channel
        },
        Mistake(start(), .channelIDForm, "aps.input-push-channel", .refusal) {
            $0.content.start?.wantsPushToken = false
            $0.content.start?.pushChannel = "not base64"
        },
        Mistake(start(), .dismissalDateIgnored, "aps.dismissal-date", .warning) { $0.content.dismissalDate = now },
        Mistake(start(), .priorityMayWait, "apns-priority", .warning) { $0.priority = 5 },
        Mistake(start(), .expirationOnce, "apns-expiration", .warning) { $0.expiration = 0 },
        Mistake(start(), .expirationLate, "apns-expiration", .warning) { $0.expiration = now + 3601 },
        Mistake(start(), .timestampOld, "aps.timestamp", .warning) { $0.timestamp = now - 600 },
        // Update
        Mistake(update(), .contentStateMissing, "aps.content-state", .refusal) { $0.content.contentState = [] },
        Mistake(update(), .notAnObject, "aps.content-state", .refusal) { $0.content.contentState = Array("[1]".utf8) },
        Mistake(update(), .invalidJSON, "aps.content-state", .refusal) {
            $0.content.contentState = Array(#"{"a":1,}"#.utf8)
        },
        Mistake(update(), .invalidJSON, "aps.content-state", .refusal) {
            $0.content.contentState = Array(#"{"a":1,"a":2}"#.utf8)
        },
        Mistake(update(), .dateAsUnixSeconds, "aps.content-state.endTime", .warning) {
            $0.content.contentState = Array(#"{"endTime":1796007172}"#.utf8)
        },
        Mistake(update(), .dismissalDateIgnored, "aps.dismissal-date", .warning) { $0.content.dismissalDate = now },
        Mistake(update(), .staleDatePast, "aps.stale-date", .warning) { $0.content.staleDate = now - 1 },
        Mistake(update(), .milliseconds, "aps.stale-date", .refusal) { $0.content.staleDate = (now + 900) * 1000 },
        Mistake(update(), .secondsSince2001, "aps.timestamp", .refusal) { $0.timestamp = now - 978_307_200 },
        Mistake(update(), .milliseconds, "aps.timestamp", .refusal) {
            $0.expiration = now
            $0.expiration += 60
            $0.timestamp = now * 1000
        },
        Mistake(update(), .timestampTooFarAhead, "aps.timestamp", .refusal) { $0.timestamp = now + 28_801 },
        Mistake(update(), .timestampAhead, "aps.timestamp", .warning) { $0.timestamp = now + 600 },
        Mistake(update(), .timestampOld, "aps.timestamp", .warning) { $0.timestamp = 1_685_952_000 },
        Mistake(update(), .notANumber, "aps.relevance-score", .refusal) {
            $0.content.relevanceScore = Array(#""100""#.utf8)
        },
        Mistake(update(), .notANumber, "aps.relevance-score", .refusal) {
            $0.content.relevanceScore = Array("1e400".utf8)
        },
        Mistake(update(), .alertEmpty, "aps.alert", .warning) { $0.content.alert = ActivityAlert(sound: "default") },
        Mistake(update(), .localizationKeyMissing, "aps.alert.body", .refusal) {
            $0.content.alert = ActivityAlert(title: "T", body: .localized(key: "", arguments: ["A"]))
        },
        Mistake(update(), .startFieldIgnored, "aps.attributes-type", .warning) {
            $0.content.start = ActivityStart(attributesType: "A", attributes: [])
        },
        Mistake(update(), .startFieldIgnored, "aps.input-push-token", .warning) {
            $0.content.start = ActivityStart(attributesType: "", attributes: [], wantsPushToken: true)
        },
        Mistake(update(), .priorityUnknown, "apns-priority", .refusal) { $0.priority = 1 },
        Mistake(update(), .priorityMayWait, "apns-priority", .warning) {
            $0.content.alert = ActivityAlert(title: "T", body: "B")
            $0.priority = 5
        },
        Mistake(update(), .expirationPast, "apns-expiration", .warning) { $0.expiration = now },
        Mistake(update(), .milliseconds, "apns-expiration", .refusal) { $0.expiration = now * 1000 },
        Mistake(update(), .collapseIDForm, "apns-collapse-id", .refusal) {
            $0.collapseID = String(repeating: "é", count: 33)
        },
        Mistake(update(), .collapseIDForm, "apns-collapse-id", .refusal) { $0.collapseID = "a\nb" },
        Mistake(update(), .pushIDForm, "apns-id", .refusal) { $0.id = "1" },
        Mistake(update(), .bundleIDForm, "apns-topic", .refusal) { $0.bundleID += ".push-type.liveactivity" },
        Mistake(update(), .bundleIDForm, "apns-topic", .refusal) { $0.bundleID = "com example" },
        // End
        Mistake(update(), .contentStateMissing, "aps.content-state", .warning) {
            $0.content.event = .end
            $0.content.contentState = []
        },
        Mistake(update(), .dismissalDateFar, "aps.dismissal-date", .warning) {
            $0.content.event = .end
            $0.content.dismissalDate = now + 14_401
        },
        Mistake(update(), .staleDateIgnored, "aps.stale-date", .warning) {
            $0.content.event = .end
            $0.content.staleDate = now + 900
        },
        Mistake(update(), .priorityMayWait, "apns-priority", .warning) {
            $0.content.event = .end
            $0.priority = 5
        },
        // Broadcast
        Mistake(start(), .broadcastCannotStart, "aps.event", .refusal) {
            $0.destination = .channel(channel, storage: .none)
            $0.collapseID = nil
            $0.expiration = 0
        },
        Mistake(broadcast(.none), .expirationNotStored, "apns-expiration", .refusal) { $0.expiration = now + 60 },
        Mistake(broadcast(.mostRecent), .expirationOnce, "apns-expiration", .warning) { $0.expiration = 0 },
        Mistake(broadcast(.none), .channelIDForm, "apns-channel-id", .refusal) {
            $0.destination = .channel("x", storage: .none)
        },
    ]

    @Test("C57, C60, C63, C64, C65, C67, C69, C76: each mistake is named, and nothing else", arguments: mistakes)
    func mistakeIsNamed(_ mistake: Mistake) {
        let findings = mistake.push.findings(now: Self.now)
        #expect(findings.map(\.code) == [mistake.code], "\(findings)")
        #expect(findings.map(\.name) == [mistake.name])
        #expect(findings.map(\.severity) == [mistake.severity])
        #expect(findings.allSatisfy { !$0.message.isEmpty })
    }

    @Test("Every code has a test here or beside it")
    func everyCodeIsTested() {
        let elsewhere: Set<PayloadFinding.Code> = [
            .contentStateUnfit, .unknownMember, .attributesTypeUnknown,
            .negative, .timestampNotNewer, .dateAsText, .dateAsMilliseconds, .inputNotSupported, .startNotSupported,
            .tokenSize, .collapseIDIgnored, .payloadTooLarge, .stateTooLarge,
        ]
        #expect(elsewhere.union(Self.mistakes.map(\.code)) == Set(PayloadFinding.Code.allCases))
    }

    @Test("C63: any number is a relevance score", arguments: ["100", "0", "-1", "75.5", "1e2"])
    func relevanceScore(number: String) {
        var push = Self.update()
        push.content.relevanceScore = Array(number.utf8)
        #expect(push.findings(now: Self.now).isEmpty)
        #expect(String(decoding: push.payload, as: UTF8.self).contains(#""relevance-score":\#(number)}"#))
    }

    @Test(
        "C69: what the phone's iOS does not take is refused",
        arguments: [
            ("16.4", false, [.startNotSupported, .inputNotSupported]),
            ("17.1.2", true, [.startNotSupported, .inputNotSupported]), ("17.2", true, [.inputNotSupported]),
            ("iOS 17.4", false, [.inputNotSupported]), ("18", true, []), ("26.1", false, []),
        ] as [(String, Bool, [PayloadFinding.Code])]
    )
    func systems(version: String, isChannel: Bool, expected: [PayloadFinding.Code]) throws {
        var push = Self.start()
        if isChannel {
            push.content.start?.wantsPushToken = false
            push.content.start?.pushChannel = Self.channel
        }
        let system = try #require(IOSVersion(parsing: version))
        #expect(push.findings(now: Self.now, system: system).map(\.code) == expected)
    }

    @Test("What is no version of iOS is not read", arguments: ["", "iOS", "beta", "99999999999999999999"])
    func malformedVersions(text: String) {
        #expect(IOSVersion(parsing: text) == nil)
    }

    @Test(
        "C83: 4096 bytes pass, and 5120 of a broadcast; one more is refused with the counts",
        arguments: [4096, 5120]
    )
    func sizes(limit: Int) throws {
        var push = limit == 4096 ? Self.update() : Self.broadcast(.none)
        push.content.contentState = Array(#"{"a":""}"#.utf8)
        let room = limit - push.payload.count
        for excess in [0, 1] {
            let filler = String(repeating: "x", count: room + excess)
            push.content.contentState = Array(#"{"a":"\#(filler)"}"#.utf8)
            let refusals = push.findings(now: Self.now).filter { $0.severity == .refusal }
            #expect(refusals.map(\.code) == (excess == 0 ? [] : [.payloadTooLarge]))
            if let refusal = refusals.first {
                #expect(refusal.message == "has \(limit + 1) bytes, at most \(limit) are allowed")
                #expect(refusal.name == "payload")
            }
        }
    }

    @Test("A broadcast that fits with a state that no activity holds is warned of")
    func largeState() {
        var push = Self.broadcast(.none)
        push.content.contentState = Array(#"{"a":"\#(String(repeating: "x", count: 4096))"}"#.utf8)
        #expect(push.findings(now: Self.now).map(\.code) == [.stateTooLarge])
    }

    @Test("A token of 32 bytes is warned of: it may be the one for notifications", arguments: [32, 54, 80])
    func tokenSizes(count: Int) throws {
        let token = try PushToken(bytes: Array(repeating: 1, count: count))
        #expect(LiveActivityPush.findings(of: token).map(\.code) == (count == 32 ? [.tokenSize] : []))
    }

    @Test("A timestamp is compared with that of the push before")
    func lastTimestamp() {
        let findings = Self.update().findings(now: Self.now, lastTimestamp: Self.now)
        #expect(findings.map(\.code) == [.timestampNotNewer])
        #expect(findings.first?.likely == String(Self.now + 1))
    }

    @Test("A finding as JSON has its field, code and message, and the likely value as a number")
    func findingAsJSON() throws {
        var push = Self.update()
        push.content.contentState = Array(#"{"eta":1796007172}"#.utf8)
        let finding = try #require(push.findings(now: Self.now).first)
        var writer = JSONWriter()
        finding.write(to: &writer)
        let expected =
            #"{"field":"aps.content-state.eta","code":"date_as_unix_seconds","message":"looks like Unix seconds; "#
            + #"if it is a Date it must be the seconds since 2001, 817699972","likely":817699972}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test("A push prints without its content")
    func descriptions() throws {
        let start = try #require(Self.start().content.start)
        #expect("\(start)" == "DeliveryAttributes with 23 bytes of attributes")
        #expect("\(AlertText.localized(key: "secret", arguments: ["secret"]))" == "key of 6 bytes with 1 arguments")
        #expect(!"\(Self.start().content)".contains("Ana"))
    }
}
