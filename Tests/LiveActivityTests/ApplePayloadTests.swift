import LiveActivity
import Testing

/// The payloads of Apple's session "Update Live Activities with push notifications" (WWDC 2023), made here: equal as JSON.
@Suite("Apple's own payloads", .timeLimit(.minutes(5)))
struct ApplePayloadTests {
    private static let healthy = #"{"currentHealthLevel": 0.941, "eventDescription": "Power Panda found a sword!"}"#
    private static let knockedDown =
        #"{"currentHealthLevel": 0.0, "eventDescription": "Power Panda has been knocked down!"}"#

    private static let localized = ActivityAlert(
        title: .localized(key: "%@ is knocked down!", arguments: ["Power Panda"]),
        body: .localized(key: "Use a potion to heal %@!", arguments: ["Power Panda"]),
        sound: "HeroDown.mp4",
    )

    private static func content(
        _ state: String,
        event: ActivityEvent = .update,
        staleDate: Int64? = nil,
        relevanceScore: String? = nil,
        dismissalDate: Int64? = nil,
        alert: ActivityAlert? = nil,
    ) -> ActivityContent {
        ActivityContent(
            event: event,
            contentState: Array(state.utf8),
            staleDate: staleDate,
            relevanceScore: relevanceScore.map { Array($0.utf8) },
            dismissalDate: dismissalDate,
            alert: alert,
        )
    }

    @Test(
        "C56, C68: each is reproduced",
        arguments: [
            (
                content(healthy),
                """
                {
                    "aps": {
                        "timestamp": 1685952000,
                        "event": "update",
                        "content-state": {
                            "currentHealthLevel": 0.941,
                            "eventDescription": "Power Panda found a sword!"
                        }
                    }
                }
                """
            ),
            (
                content(
                    knockedDown,
                    alert: ActivityAlert(
                        title: "Power Panda is knocked down!",
                        body: "Use a potion to heal Power Panda!",
                        sound: "default",
                    ),
                ),
                """
                {
                    "aps": {
                        "timestamp": 1685952000,
                        "event": "update",
                        "content-state": {
                            "currentHealthLevel": 0.0,
                            "eventDescription": "Power Panda has been knocked down!"
                        },
                        "alert": {
                            "title": "Power Panda is knocked down!",
                            "body": "Use a potion to heal Power Panda!",
                            "sound": "default"
                        }
                    }
                }
                """
            ),
            (
                content(knockedDown, alert: localized),
                """
                {
                    "aps": {
                        "timestamp": 1685952000,
                        "event": "update",
                        "content-state": {
                            "currentHealthLevel": 0.0,
                            "eventDescription": "Power Panda has been knocked down!"
                        },
                        "alert": {
                            "title": {
                                "loc-key": "%@ is knocked down!",
                                "loc-args": ["Power Panda"]
                            },
                            "body": {
                                "loc-key": "Use a potion to heal %@!",
                                "loc-args": ["Power Panda"]
                            },
                            "sound": "HeroDown.mp4"
                        }
                    }
                }
                """
            ),
            (
                content(
                    #"{"currentHealthLevel":0.23,"eventDescription":"Adventure over! Power Panda is taking a nap."}"#,
                    event: .end,
                    dismissalDate: 1_685_959_200,
                ),
                """
                {
                    "aps": {
                        "timestamp": 1685952000,
                        "event": "end",
                        "dismissal-date": 1685959200,
                        "content-state": {
                            "currentHealthLevel": 0.23,
                            "eventDescription": "Adventure over! Power Panda is taking a nap."
                        }
                    }
                }
                """
            ),
            (
                content(
                    #"{"currentHealthLevel":0.79,"eventDescription":"Egghead is in the woods and lost connection."}"#,
                    staleDate: 1_685_959_200,
                ),
                """
                {
                    "aps": {
                        "timestamp": 1685952000,
                        "event": "update",
                        "stale-date": 1685959200,
                        "content-state": {
                            "currentHealthLevel": 0.79,
                            "eventDescription": "Egghead is in the woods and lost connection."
                        }
                    }
                }
                """
            ),
            (
                content(healthy, relevanceScore: "100"),
                """
                {
                    "aps": {
                        "timestamp": 1685952000,
                        "event": "update",
                        "relevance-score": 100,
                        "content-state": {
                            "currentHealthLevel": 0.941,
                            "eventDescription": "Power Panda found a sword!"
                        }
                    }
                }
                """
            ),
        ] as [(ActivityContent, String)]
    )
    func payloads(content: ActivityContent, expected: String) throws {
        let push = LiveActivityPush(bundleID: "com.example.app", content: content, timestamp: 1_685_952_000)
        #expect(try canonical(push.payload) == canonical(expected.utf8))
        // At the time of their timestamps nothing is wrong with them.
        #expect(push.findings(now: 1_685_952_000).isEmpty)
    }

    @Test("The headers of Apple's curl command")
    func headers() {
        let push = LiveActivityPush(
            bundleID: "com.example.apple-samplecode.Emoji-Rangers",
            content: Self.content(Self.healthy),
            timestamp: 1_685_952_000,
            expiration: 0,
        )
        let headers = push.headers.map { "\($0.name): \($0.value)" }
        #expect(
            headers == [
                "apns-topic: com.example.apple-samplecode.Emoji-Rangers.push-type.liveactivity",
                "apns-push-type: liveactivity", "apns-priority: 10", "apns-expiration: 0",
            ]
        )
        #expect(push.path(token: "80b6") == "/3/device/80b6")
    }
}
