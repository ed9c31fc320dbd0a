import COpenSSL

/// The TLS side of the simulator: TLS 1.2 or newer, ALPN `h2` and nothing else, as Apple asks of its clients.
final class TLSContext {
    private let context: OpaquePointer

    /// Serves with a certificate that was made for the run.
    init(_ certificate: TestCertificate) throws(APNsSimulatorError) {
        self.context = try TLSContext.makeContext()
        defer {
            X509_free(certificate.certificate)
            EVP_PKEY_free(certificate.privateKey)
        }
        guard
            SSL_CTX_use_certificate(context, certificate.certificate) == 1,
            SSL_CTX_use_PrivateKey(context, certificate.privateKey) == 1
        else {
            throw .certificate("OpenSSL does not take the test certificate")
        }
    }

    /// Serves with a certificate chain and a private key from PEM files.
    init(certificateFile: String, privateKeyFile: String) throws(APNsSimulatorError) {
        self.context = try TLSContext.makeContext()
        guard SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1 else {
            ERR_clear_error()
            throw .certificate("\(certificateFile) holds no PEM certificate")
        }
        guard
            SSL_CTX_use_PrivateKey_file(context, privateKeyFile, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(context) == 1
        else {
            ERR_clear_error()
            throw .certificate("\(privateKeyFile) holds no PEM private key of that certificate")
        }
    }

    deinit {
        SSL_CTX_free(context)
    }

    private static func makeContext() throws(APNsSimulatorError) -> OpaquePointer {
        guard let context = SSL_CTX_new(TLS_server_method()) else {
            throw .resources("SSL_CTX_new failed: no memory")
        }
        _ = livepush_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION)
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, selected, selectedLength, offered, offeredLength, _ in
                let offer = UnsafeBufferPointer(start: offered, count: Int(offeredLength))
                guard let start = TLSContext.http2(in: offer) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                selected?.pointee = offered?.advanced(by: start)
                selectedLength?.pointee = 2
                return SSL_TLSEXT_ERR_OK
            },
            nil,
        )
        return context
    }

    /// Where `h2` stands in a client's list of protocols, each after its length (RFC 7301 section 3.1).
    private static func http2(in offer: UnsafeBufferPointer<UInt8>) -> Int? {
        var position = 0
        while position < offer.count {
            let start = position + 1
            let end = start + Int(offer[position])
            guard end <= offer.count else { return nil }
            if offer[start..<end].elementsEqual("h2".utf8) {
                return start
            }
            position = end
        }
        return nil
    }

    /// A new server side of one connection; the caller owns it.
    func makeSession() -> OpaquePointer? {
        SSL_new(context)
    }
}
