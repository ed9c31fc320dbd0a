import Foundation
import TestSupport

/// A test authority with one server certificate, made by `openssl` in a temporary folder that ends with this object.
final class TestCertificates: Sendable {
    let authorityFile: String
    let certificateFile: String
    let keyFile: String

    private let folder: String

    init(hosts: String) throws {
        folder = NSTemporaryDirectory() + "/livepush-apns-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        authorityFile = folder + "/authority.pem"
        certificateFile = folder + "/server.pem"
        keyFile = folder + "/server.key"
        let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try TestCertificates.openssl(
            ["req", "-x509", "-days", "2", "-subj", "/CN=Test Authority", "-out", authorityFile]
                + ["-keyout", folder + "/authority.key"] + newKey
        )
        try TestCertificates.openssl(
            ["req", "-new", "-subj", "/CN=peer", "-addext", "subjectAltName=" + hosts, "-out", folder + "/server.csr"]
                + ["-keyout", keyFile] + newKey
        )
        try TestCertificates.openssl(
            ["x509", "-req", "-days", "2", "-copy_extensions", "copy", "-in", folder + "/server.csr"]
                + ["-CA", authorityFile, "-CAkey", folder + "/authority.key", "-CAcreateserial"]
                + ["-out", certificateFile]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    @discardableResult
    static func openssl(_ arguments: [String], input: String = "") throws -> String {
        let outcome = try ChildProcess.run("openssl", arguments, input: input)
        guard outcome.status == 0 else { throw PeerFailure(reason: outcome.errors) }
        return outcome.output
    }
}
