import APNs

/// Valid values for tests to start from.
enum Samples {
    /// A new P-256 key in PKCS#8.
    static func privateKeyPEM() throws -> String {
        try TestCertificates.openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
    }

    static func key(team: String = "DEF123GHIJ", id: String = "ABC123DEFG") throws -> APNsSigningKey {
        try APNsSigningKey(privateKey: Array(privateKeyPEM().utf8), teamID: team, keyID: id)
    }

    /// A Live Activity update to the token whose last digits are `number`.
    static func request(_ number: Int = 0) -> APNsRequest {
        let digits = String(number, radix: 16)
        let suffix = String(repeating: "0", count: 12 - digits.count) + digits
        return APNsRequest(
            deviceToken: token(number),
            topic: "com.ex.app.push-type.liveactivity",
            pushType: .liveActivity,
            priority: 10,
            expiration: 1_796_007_172,
            apnsID: "123e4567-e89b-12d3-a456-\(suffix)",
            collapseID: "message-\(number)",
            payload: Array(#"{"aps":{"event":"update","timestamp":1796007172,"content-state":{"n":\#(number)}}}"#.utf8),
        )
    }

    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "a", count: 148) + String(repeating: "0", count: 12 - digits.count) + digits
    }

    static func requests(_ range: Range<Int>) -> [APNsRequest] {
        range.map(request)
    }
}

extension APNsOutcome {
    var response: APNsResponse? {
        guard case .responded(let response) = self else { return nil }
        return response
    }

    var status: Int? { response?.status }
}

/// Base64 of either alphabet, with or without padding.
func decodeBase64(_ text: String) -> [UInt8]? {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var bytes: [UInt8] = []
    var bits = 0
    var value = 0
    for character in text.utf8 where character != UInt8(ascii: "=") {
        let standard =
            character == UInt8(ascii: "-")
            ? UInt8(ascii: "+") : character == UInt8(ascii: "_") ? UInt8(ascii: "/") : character
        guard let digit = alphabet.firstIndex(of: standard) else { return nil }
        value = (value << 6 | digit) & 0xFFFF
        bits += 6
        if bits >= 8 {
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: value >> bits))
        }
    }
    return bytes
}
