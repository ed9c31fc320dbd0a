import APNs
import COpenSSL
import Testing
import VerbatimJSON

@Suite(.timeLimit(.minutes(5)))
struct ProviderTokenTests {
    @Test("C13: 1000 tokens have raw signatures of 64 bytes that verify")
    func signatures() throws {
        let pem = try Samples.privateKeyPEM()
        let key = try APNsSigningKey(privateKey: Array(pem.utf8), teamID: "DEF123GHIJ", keyID: "ABC123DEFG")
        let verifier = try #require(Verifier(privateKeyPEM: pem))
        for issuedAt in Int64(1_796_000_000)..<1_796_001_000 {
            let token = try ProviderToken.mint(key, issuedAt: issuedAt)
            let parts = token.split(separator: ".")
            try #require(parts.count == 3)
            let signature = try #require(decodeBase64(String(parts[2])))
            try #require(signature.count == 64)
            try #require(verifier.accepts(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
        }
    }

    @Test("Header and claims are those that Apple asks for, and no others")
    func contents() throws {
        let token = try ProviderToken.mint(try Samples.key(), issuedAt: 1_796_007_172)
        let parts = token.split(separator: ".").map(String.init)
        let header = try #require(decodeBase64(parts[0]))
        let claims = try #require(decodeBase64(parts[1]))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"DEF123GHIJ","iat":1796007172}"#)
        #expect(!token.contains("=") && !token.contains("+") && !token.contains("/"))
    }
}

/// Verifies with OpenSSL's own DER signatures, which it makes of the raw ones.
private final class Verifier {
    private let key: OpaquePointer

    init?(privateKeyPEM: String) {
        let bytes = Array(privateKeyPEM.utf8)
        guard let memory = BIO_new_mem_buf(bytes, Int32(bytes.count)) else { return nil }
        defer { BIO_free(memory) }
        guard let key = PEM_read_bio_PrivateKey(memory, nil, nil, nil) else { return nil }
        self.key = key
    }

    deinit {
        EVP_PKEY_free(key)
    }

    func accepts(_ raw: [UInt8], of message: [UInt8]) -> Bool {
        guard let signature = ECDSA_SIG_new(), let context = EVP_MD_CTX_new() else { return false }
        defer {
            ECDSA_SIG_free(signature)
            EVP_MD_CTX_free(context)
        }
        let (first, second) = (Array(raw.prefix(32)), Array(raw.suffix(32)))
        ECDSA_SIG_set0(signature, BN_bin2bn(first, 32, nil), BN_bin2bn(second, 32, nil))
        var der = [UInt8](repeating: 0, count: 80)
        let count = der.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return i2d_ECDSA_SIG(signature, &cursor)
        }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, der, Int(count), message, message.count) == 1
    }
}
