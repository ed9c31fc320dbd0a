import Testing

@testable import APNsSimulator

/// One thing broken, and the answer to it. nil is 200.
struct PushCase: CustomTestStringConvertible, Sendable {
    var name: String
    var request: @Sendable () -> PushRequest
    var expected: String?

    init(_ name: String, _ expected: String?, _ request: @autoclosure @escaping @Sendable () -> PushRequest) {
        self.name = name
        self.expected = expected
        self.request = request
    }

    var testDescription: String { name }
}

// MARK: - Tables

extension PushCase {
    static let requestLine: [PushCase] = [
        PushCase("a complete alert", nil, Fixture.request()),
        PushCase("GET", "405 MethodNotAllowed", Fixture.request().with(method: "GET")),
        PushCase("another path", "404 BadPath", Fixture.request().with(path: "/3/devices/ab")),
        PushCase("the root", "404 BadPath", Fixture.request().with(path: "/")),
        PushCase("a longer path", "404 BadPath", Fixture.request().with(path: "/3/device/ab/cd")),
        PushCase("no token", "400 MissingDeviceToken", Fixture.request().with(path: "/3/device/")),
        PushCase("no token and no slash", "400 MissingDeviceToken", Fixture.request().with(path: "/3/device")),
        PushCase(
            "a token that is not hexadecimal",
            "400 BadDeviceToken",
            Fixture.request(token: String(repeating: "xy", count: 32))
        ),
        PushCase("a token of odd length", "400 BadDeviceToken", Fixture.request(token: Fixture.deviceToken + "a")),
        PushCase(
            "a token of 31 bytes",
            "400 BadDeviceToken",
            Fixture.request(token: String(repeating: "ab", count: 31))
        ),
        PushCase("C46: a token of 54 bytes", nil, Fixture.request(token: String(repeating: "aB", count: 54))),
        PushCase("C46: a token of 100 bytes", nil, Fixture.request(token: String(repeating: "ab", count: 100))),
        PushCase("a token of 256 bytes", nil, Fixture.request(token: String(repeating: "ab", count: 256))),
        PushCase(
            "a token of 257 bytes",
            "400 BadDeviceToken",
            Fixture.request(token: String(repeating: "ab", count: 257))
        ),
    ]

    static let headers: [PushCase] = [
        PushCase(
            "a header twice",
            "400 DuplicateHeaders",
            {
                var request = Fixture.request()
                request.headers.append(PushRequest.Header(name: "apns-topic", value: Fixture.bundleID))
                return request
            }()
        ),
        PushCase("no apns-id", nil, Fixture.request().with("apns-id", nil)),
        PushCase(
            "an upper-case apns-id",
            nil,
            Fixture.request().with("apns-id", "123E4567-E89B-12D3-A456-4266554400A0")
        ),
        PushCase(
            "an apns-id without dashes",
            "400 BadMessageId",
            Fixture.request().with("apns-id", "123e4567e89b12d3a4564266554400a0")
        ),
        PushCase(
            "an apns-id with a g",
            "400 BadMessageId",
            Fixture.request().with("apns-id", "g23e4567-e89b-12d3-a456-4266554400a0")
        ),
        PushCase("no topic", "400 MissingTopic", Fixture.request().with("apns-topic", nil)),
        PushCase("an empty topic", "400 MissingTopic", Fixture.request().with("apns-topic", "")),
        PushCase("a topic with a blank", "400 BadTopic", Fixture.request(topic: "com ex")),
        PushCase("a topic that is only a suffix", "400 BadTopic", Fixture.request(topic: ".push-type.liveactivity")),
        PushCase("no push type", nil, Fixture.request().with("apns-push-type", nil)),
        PushCase("an unknown push type", "400 InvalidPushType", Fixture.request(pushType: "Alert")),
        PushCase("no priority", nil, Fixture.request().with("apns-priority", nil)),
        PushCase("priority 1", nil, Fixture.request().with("apns-priority", "1")),
        PushCase("priority 10", nil, Fixture.request().with("apns-priority", "10")),
        PushCase("priority 7", "400 BadPriority", Fixture.request().with("apns-priority", "7")),
        PushCase("priority 05", "400 BadPriority", Fixture.request().with("apns-priority", "05")),
        PushCase("an expiration", nil, Fixture.request().with("apns-expiration", "1796000000")),
        PushCase("a negative expiration", "400 BadExpirationDate", Fixture.request().with("apns-expiration", "-1")),
        PushCase("an empty expiration", "400 BadExpirationDate", Fixture.request().with("apns-expiration", "")),
        PushCase("a fractional expiration", "400 BadExpirationDate", Fixture.request().with("apns-expiration", "1.5")),
        PushCase(
            "an expiration beyond 64 bits",
            "400 BadExpirationDate",
            Fixture.request().with("apns-expiration", "99999999999999999999")
        ),
        PushCase(
            "a collapse id of 64 bytes",
            nil,
            Fixture.request().with("apns-collapse-id", String(repeating: "c", count: 64))
        ),
        PushCase(
            "a collapse id of 65 bytes in 33 characters",
            "400 BadCollapseId",
            Fixture.request().with("apns-collapse-id", String(repeating: "é", count: 32) + "c")
        ),
    ]

    static let topics: [PushCase] = [
        PushCase("a complete Live Activity update", nil, Fixture.activity()),
        PushCase(
            "C47: a Live Activity with the plain topic",
            "400 DeviceTokenNotForTopic",
            Fixture.activity().with("apns-topic", Fixture.bundleID)
        ),
        PushCase(
            "C47: a Live Activity without push type",
            "400 DeviceTokenNotForTopic",
            Fixture.activity().with("apns-push-type", nil)
        ),
        PushCase(
            "an alert with the Live Activity's topic",
            "400 DeviceTokenNotForTopic",
            Fixture.request(topic: "com.ex.app.push-type.liveactivity")
        ),
        PushCase(
            "an alert with the voip topic",
            "400 DeviceTokenNotForTopic",
            Fixture.request(topic: "com.ex.app.voip")
        ),
        PushCase("a background push", nil, Fixture.request(pushType: "background", body: Fixture.background)),
        PushCase(
            "a background push of priority 10",
            "400 BadPriority",
            Fixture.request(pushType: "background", body: Fixture.background).with("apns-priority", "10")
        ),
    ]

    static let payloads: [PushCase] = [
        PushCase("no body", "400 PayloadEmpty", Fixture.request(body: "")),
        PushCase("a body that is not JSON", "400 PayloadEmpty", Fixture.request(body: "{")),
        PushCase("an array", "400 PayloadEmpty", Fixture.request(body: "[]")),
        PushCase("no aps", "400 PayloadEmpty", Fixture.request(body: #"{"a":1}"#)),
        PushCase("aps that is no object", "400 PayloadEmpty", Fixture.request(body: #"{"aps":1}"#)),
        PushCase("C83: 4096 bytes", nil, Fixture.request().with(body: padded(to: 4096))),
        PushCase("C83: 4097 bytes", "413 PayloadTooLarge", Fixture.request().with(body: padded(to: 4097))),
        PushCase("100,000 bytes", "413 PayloadTooLarge", Fixture.request().with(body: padded(to: 100_000))),
        PushCase(
            "a Live Activity push with an alert's payload",
            "400 InvalidPushType",
            Fixture.activity(Fixture.alert)
        ),
        PushCase(
            "an alert push with an activity's payload",
            "400 InvalidPushType",
            Fixture.request(body: Fixture.update())
        ),
        PushCase("a background push that alerts", "400 InvalidPushType", Fixture.request(pushType: "background")),
        PushCase(
            "C56: events instead of event",
            nil,
            Fixture.activity(#"{"aps":{"events":"update","content-state":{}}}"#)
        ),
    ]

    static func padded(to length: Int) -> String {
        let frame = #"{"aps":{"alert":""}}"#
        return frame.replacing("\"\"", with: "\"" + String(repeating: "x", count: length - frame.utf8.count) + "\"")
    }

    static let providerTokens: [PushCase] = [
        PushCase("no authorization", "403 MissingProviderToken", Fixture.request().with("authorization", nil)),
        PushCase("bearer alone", "403 MissingProviderToken", Fixture.request().with("authorization", "bearer ")),
        PushCase(
            "another scheme",
            "403 InvalidProviderToken",
            Fixture.request().with("authorization", "basic " + Fixture.signedToken)
        ),
        PushCase("a token of two parts", "403 InvalidProviderToken", token("a.b")),
        PushCase("a token that is no base64", "403 InvalidProviderToken", token("*.*.*")),
        PushCase("an unsigned but well-formed token", nil, token(Fixture.providerToken())),
        PushCase(
            "typ as well",
            nil,
            token(Fixture.providerToken(header: #"{"alg":"ES256","kid":"ABC123DEFG","typ":"JWT"}"#))
        ),
        PushCase(
            "alg none",
            "403 InvalidProviderToken",
            token(Fixture.providerToken(header: #"{"alg":"none","kid":"ABC123DEFG"}"#))
        ),
        PushCase("no kid", "403 InvalidProviderToken", token(Fixture.providerToken(header: #"{"alg":"ES256"}"#))),
        PushCase(
            "a kid of 9",
            "403 InvalidProviderToken",
            token(Fixture.providerToken(header: #"{"alg":"ES256","kid":"ABC123DEF"}"#))
        ),
        PushCase("no iss", "403 InvalidProviderToken", token(Fixture.providerToken(claims: #"{"iat":1796000000}"#))),
        PushCase(
            "iat as text",
            "403 InvalidProviderToken",
            token(Fixture.providerToken(claims: #"{"iss":"DEF123GHIJ","iat":"1796000000"}"#))
        ),
        PushCase("a DER signature", "403 InvalidProviderToken", token(Fixture.derSignedToken)),
        PushCase("an hour old", nil, Fixture.request().later(seconds: 3600)),
        PushCase("more than an hour old", "403 ExpiredProviderToken", Fixture.request().later(seconds: 3601)),
        PushCase("an hour ahead", nil, Fixture.request().later(seconds: -3600)),
        PushCase("more than an hour ahead", "403 InvalidProviderToken", Fixture.request().later(seconds: -3601)),
    ]

    static func token(_ text: String) -> PushRequest {
        Fixture.request().with("authorization", "bearer " + text)
    }
}
