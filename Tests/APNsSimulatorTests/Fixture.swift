@testable import APNsSimulator

/// A request that every check passes, made of parts that tests break one at a time.
enum Fixture {
    static let issuedAt: Int64 = 1_796_000_000
    static let time = UnixTime(milliseconds: issuedAt * 1000)
    static let deviceToken = String(repeating: "ab", count: 32)
    static let activityToken = String(repeating: "0c", count: 80)
    static let bundleID = "com.ex.app"

    /// Of the key that signed ``signedToken``.
    static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEzi6QMWpyquXXHqs+j1bf+3ZjGBrJ
        RuTVQRgW5sf+FCK4lDwzYqRgv3NuG9n18663vFw0tAvwJz+RHPbPO6iR/g==
        -----END PUBLIC KEY-----
        """
    /// Of the curve P-384.
    static let otherCurve = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAECVuKv3yQjHX3j0GZbwph5ISnG3djoZuL
        4zhhj19TgvKCPXuwRspL8sUo/Bt0o1DM+Ef4AilMDhqaAZ2o4zOkdag2pxr8wBL7
        KgiVjrr3KvtHNZqKhQCu7cT45dqSC+T3
        -----END PUBLIC KEY-----
        """
    private static let signedText =
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.eyJpc3MiOiJERUYxMjNHSElKIiwiaWF0IjoxNzk2MDAwMDAwfQ"
    /// Key ABC123DEFG, team DEF123GHIJ, ``issuedAt``; signed with another library (Python's cryptography).
    static let signedToken =
        signedText + ".BGv0WDHwzx1rUP9vm1yl6kILJNlwAz1RW4qaEs-iHpfHyaKPacAtof2FMfVYiRw4sRd81zju65czAVcTuP_VxA"
    /// The same signature in DER form.
    static let derSignedToken =
        signedText
        + ".MEUCIARr9Fgx8M8da1D_b5tcpepCCyTZcAM9UVuKmhLPoh6XAiEAx8mij2nALaH9hTH1WIkcOLEXfNc47uuXMwFXE7j_1cQ"

    static let alert = #"{"aps":{"alert":{"title":"t","body":"b"}}}"#
    static let background = #"{"aps":{"content-available":1},"k":1}"#

    /// An update sent at ``issuedAt`` plus `offset` seconds.
    static func update(at offset: Int64 = 0, event: String = "update") -> String {
        #"{"aps":{"timestamp":\#(issuedAt + offset),"event":"\#(event)","content-state":{"a":1}}}"#
    }

    /// A token whose signature is 64 zero bytes: good where no key is registered.
    static func providerToken(
        header: String = #"{"alg":"ES256","kid":"ABC123DEFG"}"#,
        claims: String = #"{"iss":"DEF123GHIJ","iat":1796000000}"#,
    ) -> String {
        base64URL(header) + "." + base64URL(claims) + "." + String(repeating: "A", count: 86)
    }

    private static func base64URL(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bits = text.utf8.flatMap { byte in (0..<8).map { byte >> (7 - UInt8($0)) & 1 } }
        return String(
            stride(from: 0, to: bits.count, by: 6).map { start in
                let group = bits[start...].prefix(6) + Array(repeating: 0, count: max(0, start + 6 - bits.count))
                return alphabet[group.reduce(0) { $0 << 1 | Int($1) }]
            }
        )
    }

    static func request(
        environment: APNsEnvironment = .production,
        token: String = deviceToken,
        pushType: String = "alert",
        topic: String = bundleID,
        body: String = alert,
    ) -> PushRequest {
        PushRequest(
            environment: environment,
            time: time,
            method: "POST",
            path: "/3/device/" + token,
            headers: [
                PushRequest.Header(name: "authorization", value: "bearer " + signedToken),
                PushRequest.Header(name: "apns-push-type", value: pushType),
                PushRequest.Header(name: "apns-topic", value: topic),
                PushRequest.Header(name: "apns-id", value: "123e4567-e89b-12d3-a456-4266554400a0"),
                PushRequest.Header(name: "apns-priority", value: "5"),
                PushRequest.Header(name: "apns-expiration", value: "0"),
                PushRequest.Header(name: "apns-collapse-id", value: "collapse"),
            ],
            body: Array(body.utf8),
            bodyLength: body.utf8.count,
        )
    }

    static func activity(_ body: String = update(), environment: APNsEnvironment = .production) -> PushRequest {
        request(
            environment: environment,
            token: activityToken,
            pushType: "liveactivity",
            topic: bundleID + ".push-type.liveactivity",
            body: body,
        )
    }
}

extension PushRequest {
    /// Replaces, adds or (with nil) removes a header.
    func with(_ name: String, _ value: String?) -> PushRequest {
        var request = self
        let position = headers.firstIndex { $0.name == name } ?? headers.endIndex
        request.headers.removeAll { $0.name == name }
        if let value {
            request.headers.insert(Header(name: name, value: value), at: min(position, request.headers.count))
        }
        return request
    }

    func with(path: String) -> PushRequest {
        var request = self
        request.path = path
        return request
    }

    func with(method: String) -> PushRequest {
        var request = self
        request.method = method
        return request
    }

    func with(body: String) -> PushRequest {
        var request = self
        request.body = Array(body.utf8.prefix(PushRequest.maximumStoredBody))
        request.bodyLength = body.utf8.count
        return request
    }

    func later(seconds: Int64) -> PushRequest {
        var request = self
        request.time = UnixTime(milliseconds: time.milliseconds + seconds * 1000)
        return request
    }
}
