import APNs
import Testing

@Suite(.timeLimit(.minutes(5)))
struct APNsSigningKeyTests {
    private func load(_ text: String) throws(APNsSigningKeyError) -> APNsSigningKey {
        try APNsSigningKey(privateKey: Array(text.utf8), teamID: "DEF123GHIJ", keyID: "ABC123DEFG")
    }

    @Test("C14: a key loads however it was pasted, and is the same key")
    func forms() throws {
        let pem = try Samples.privateKeyPEM()
        let lines = pem.split(separator: "\n").map(String.init)
        let base64 = lines.dropFirst().dropLast().joined()
        let key = try load(pem)
        let forms = [
            lines.joined(separator: "\r\n") + "\r\n",
            lines.joined(separator: "\\n"),
            lines.joined(separator: "\\r\\n"),
            base64,
            "  " + base64 + " \n",
            lines.map { $0 + "  \t" }.joined(separator: "\n"),
            "\u{FEFF}" + pem,
            "\n\n" + pem + "\n\n",
            lines.joined(separator: "\n"),
            lines.joined(separator: " "),
            "Bag Attributes\n    friendlyName: x\n" + pem,
            String(decoding: key.canonicalPEM, as: UTF8.self),
        ]
        for (index, form) in forms.enumerated() {
            #expect(throws: Never.self, "form \(index)") {
                let other = try load(form)
                #expect(other == key)
                #expect(other.canonicalPEM == key.canonicalPEM)
            }
        }
        #expect(String(decoding: key.canonicalPEM, as: UTF8.self) == pem)
    }

    @Test("C14: what is no key is named, without a byte of it")
    func refused() throws {
        let certificates = try TestCertificates(hosts: "DNS:localhost")
        let certificate = try TestCertificates.openssl(["x509", "-in", certificates.certificateFile])
        let pem = try Samples.privateKeyPEM()
        let rsa = try TestCertificates.openssl(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        let traditionalRSA = try TestCertificates.openssl(["rsa", "-traditional"], input: rsa)
        let otherCurve = try TestCertificates.openssl(
            ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp384r1"]
        )
        let publicKey = try TestCertificates.openssl(["pkey", "-pubout"], input: pem)
        let encrypted = try TestCertificates.openssl(["pkcs8", "-topk8", "-passout", "pass:x"], input: pem)
        let certificateBody = certificate.split(separator: "\n").dropFirst().dropLast().joined()
        let cases: [(String, APNsSigningKeyError)] = [
            ("", .empty), (" \r\n\\n", .empty), ("\u{FEFF}", .empty),
            (rsa, .rsa), (traditionalRSA, .rsa), (otherCurve, .notP256), (certificate, .certificate),
            (certificateBody, .certificate), (publicKey, .publicKey), (encrypted, .encrypted),
            ("hello", .notPKCS8), ("AAAA", .notPKCS8), ("-----BEGIN PRIVATE KEY-----", .notPKCS8),
            ("-----BEGIN", .notPKCS8), (String(pem.dropLast(40)), .notPKCS8),
            (pem.replacing("PRIVATE KEY", with: "EC PRIVATE KEY"), .notPKCS8),
        ]
        for (index, (text, expected)) in cases.enumerated() {
            #expect(throws: expected, "case \(index)") { try load(text) }
        }
        #expect("\(APNsSigningKeyError.rsa)".contains("RSA"))
    }

    @Test("C14: a certificate file in DER is named")
    func binaryCertificate() throws {
        let certificates = try TestCertificates(hosts: "DNS:localhost")
        let base64 = try TestCertificates.openssl(["x509", "-in", certificates.certificateFile])
            .split(separator: "\n").dropFirst().dropLast().joined()
        let der = try #require(decodeBase64(base64))
        #expect(throws: APNsSigningKeyError.certificate) {
            try APNsSigningKey(privateKey: der, teamID: "DEF123GHIJ", keyID: "ABC123DEFG")
        }
    }

    @Test(
        "Ids have 10 characters of A-Z and 0-9",
        arguments: ["", "ABC123DEF", "ABC123DEFGH", "abc123defg", "ABC123DEF!", "ABCDÉFGHI"]
    )
    func identifiers(_ text: String) throws {
        let pem = Array(try Samples.privateKeyPEM().utf8)
        #expect(throws: APNsSigningKeyError.teamID) {
            try APNsSigningKey(privateKey: pem, teamID: text, keyID: "ABC123DEFG")
        }
        #expect(throws: APNsSigningKeyError.keyID) {
            try APNsSigningKey(privateKey: pem, teamID: "DEF123GHIJ", keyID: text)
        }
    }

    @Test("No text of a key shows its bytes")
    func descriptions() throws {
        let key = try Samples.key()
        let secret = try #require(
            String(decoding: key.canonicalPEM, as: UTF8.self).split(separator: "\n").dropFirst().first
        )
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(!text.contains(secret))
        }
    }
}
