import COpenSSL

/// A signing key such as Apple gives developers, made for one run.
public enum TestSigningKey {
    /// Makes a new P-256 key.
    ///
    /// - Returns: the text of a `.p8` file: PKCS#8 in PEM.
    /// - Throws: `certificate` if OpenSSL makes none.
    public static func makePEM() throws(APNsSimulatorError) -> [UInt8] {
        guard let key = TestCertificate.makeKey() else { throw .certificate("OpenSSL makes no signing key") }
        defer { EVP_PKEY_free(key) }
        guard let sink = BIO_new(BIO_s_mem()) else { throw .resources("no memory for a signing key") }
        defer { BIO_free(sink) }
        guard PEM_write_bio_PKCS8PrivateKey(sink, key, nil, nil, 0, nil, nil) == 1 else {
            throw .certificate("OpenSSL does not write the signing key")
        }
        return [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, Int(BIO_read(sink, buffer.baseAddress, Int32(buffer.count))))
        }
    }
}
