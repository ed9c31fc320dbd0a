import COpenSSL
import Glibc

/// What all TLS connections of a client have in common: TLS 1.2 or newer, HTTP/2, the system's trust store and one
/// more file of authorities.
final class TLSContext {
    private let context: OpaquePointer

    init(caFile: String?) throws(APNsFailure) {
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw APNsFailure(.connectFailed, detail: "OpenSSL gives no TLS context")
        }
        self.context = context
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_default_verify_paths(context)
        livepush_SSL_CTX_prepare_client(context)
        let protocols: [UInt8] = [2, UInt8(ascii: "h"), UInt8(ascii: "2")]
        // It returns 0 for success, unlike its relatives.
        guard
            livepush_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1,
            SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0
        else { throw APNsFailure(.connectFailed, detail: "OpenSSL refuses TLS 1.2 or ALPN") }
        if let caFile, SSL_CTX_load_verify_locations(context, caFile, nil) != 1 {
            let reason = TLSContext.reason(of: ERR_get_error()) ?? "cannot be read"
            ERR_clear_error()
            throw APNsFailure(.connectFailed, detail: "the file of certificate authorities \(caFile): \(reason)")
        }
    }

    deinit {
        SSL_CTX_free(context)
    }

    /// A TLS session that takes only a certificate of that host.
    ///
    /// - Parameter isNumeric: the host is an address: no SNI (RFC 6066, 3), and the certificate must name the address.
    func makeSession(host: String, isNumeric: Bool) -> OpaquePointer? {
        guard let session = SSL_new(context) else { return nil }
        let isPrepared: Bool
        if isNumeric {
            isPrepared = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1
        } else {
            isPrepared = livepush_SSL_set_tlsext_host_name(session, host) == 1 && SSL_set1_host(session, host) == 1
        }
        guard isPrepared else {
            SSL_free(session)
            return nil
        }
        return session
    }

    /// Whether the peer chose HTTP/2.
    static func hasChosenHTTP2(_ session: OpaquePointer) -> Bool {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(session, &name, &count)
        return UnsafeBufferPointer(start: name, count: Int(count)).elementsEqual("h2".utf8)
    }

    /// What the peer's certificate lacks, nil where it is good or was not seen.
    static func verificationFault(of session: OpaquePointer) -> String? {
        let result = SSL_get_verify_result(session)
        guard result != Int(X509_V_OK) else { return nil }
        return "the certificate does not verify: " + String(cString: X509_verify_cert_error_string(result))
    }

    /// nil for what is no error of OpenSSL's own: libevent mixes the results of `SSL_get_error` among them.
    static func reason(of error: UInt) -> String? {
        ERR_reason_error_string(error).map { String(cString: $0) }
    }
}
