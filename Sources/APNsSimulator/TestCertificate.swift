import COpenSSL
import Glibc

/// A certificate authority made for one run of the simulator, and a server certificate of it.
///
/// Apple's public root is of no use to a simulator; a client is told to trust this one, which dies with the process.
struct TestCertificate {
    /// The authority's certificate, PEM: what the client has to trust.
    let authority: [UInt8]
    /// The server's certificate. The struct's owner frees neither; ``TLSContext`` takes them.
    let certificate: OpaquePointer
    /// The server's private key.
    let privateKey: OpaquePointer

    /// - Parameter names: DNS names and IP addresses the certificate is good for.
    /// - Throws: ``APNsSimulatorError`` if OpenSSL refuses, which a name that is neither makes it do.
    init(names: [String]) throws(APNsSimulatorError) {
        let failure = APNsSimulatorError.certificate("cannot make a test certificate for these names")
        guard
            let authorityKey = TestCertificate.makeKey(),
            let serverKey = TestCertificate.makeKey()
        else { throw failure }
        defer { EVP_PKEY_free(authorityKey) }
        let alternatives = names.map { TestCertificate.isAddress($0) ? "IP:" + $0 : "DNS:" + $0 }.joined(separator: ",")
        guard
            names.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(TestCertificate.isNameCharacter) }),
            let authority = TestCertificate.make(
                subject: "APNs simulator test CA",
                key: authorityKey,
                issuer: nil,
                signedWith: authorityKey,
                extensions: [
                    (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                    (NID_key_usage, "critical,keyCertSign,cRLSign"),
                    (NID_subject_key_identifier, "hash"),
                ],
            )
        else {
            EVP_PKEY_free(serverKey)
            throw failure
        }
        defer { X509_free(authority) }
        guard
            let pem = TestCertificate.pem(of: authority),
            let certificate = TestCertificate.make(
                subject: "APNs simulator",
                key: serverKey,
                issuer: authority,
                signedWith: authorityKey,
                extensions: [
                    (NID_basic_constraints, "critical,CA:FALSE"),
                    (NID_key_usage, "critical,digitalSignature"),
                    (NID_ext_key_usage, "serverAuth"),
                    (NID_subject_key_identifier, "hash"),
                    (NID_authority_key_identifier, "keyid"),
                    (NID_subject_alt_name, alternatives),
                ],
            )
        else {
            EVP_PKEY_free(serverKey)
            throw failure
        }
        self.authority = pem
        self.certificate = certificate
        self.privateKey = serverKey
    }

    static func makeKey() -> OpaquePointer? {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard
            EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &key) == 1
        else { return nil }
        return key
    }

    private static func make(
        subject: String,
        key: OpaquePointer,
        issuer: OpaquePointer?,
        signedWith signingKey: OpaquePointer,
        extensions: [(Int32, String)],
    ) -> OpaquePointer? {
        guard let certificate = X509_new() else { return nil }
        let day = 24 * 60 * 60
        var serial: UInt64 = 0
        let isMade =
            withUnsafeMutableBytes(of: &serial) { RAND_bytes($0.baseAddress, Int32($0.count)) } == 1
            && X509_set_version(certificate, 2) == 1
            && ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1
            && X509_gmtime_adj(X509_getm_notBefore(certificate), -day) != nil
            && X509_gmtime_adj(X509_getm_notAfter(certificate), 365 * day) != nil
            && X509_set_pubkey(certificate, key) == 1
            && X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", 0x1001, subject, -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, X509_get_subject_name(issuer ?? certificate)) == 1
            && add(extensions, to: certificate, issuer: issuer ?? certificate)
            && X509_sign(certificate, signingKey, EVP_sha256()) > 0
        guard isMade else {
            X509_free(certificate)
            ERR_clear_error()
            return nil
        }
        return certificate
    }

    private static func add(_ extensions: [(Int32, String)], to certificate: OpaquePointer, issuer: OpaquePointer)
        -> Bool
    {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        return extensions.allSatisfy { kind, value in
            guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else { return false }
            defer { X509_EXTENSION_free(made) }
            return X509_add_ext(certificate, made, -1) == 1
        }
    }

    private static func pem(of certificate: OpaquePointer) -> [UInt8]? {
        guard let sink = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(sink) }
        guard PEM_write_bio_X509(sink, certificate) == 1 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: 8192) { buffer, count in
            count = max(0, Int(BIO_read(sink, buffer.baseAddress, Int32(buffer.count))))
        }
    }

    private static func isAddress(_ name: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1
    }

    /// Only what a host name or an address may hold: the names become part of OpenSSL's configuration syntax.
    private static func isNameCharacter(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: ":"): true
        default: false
        }
    }
}
