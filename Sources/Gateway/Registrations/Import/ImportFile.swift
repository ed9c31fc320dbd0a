import COpenSSL
import Glibc

/// A file of registrations that is read piece by piece.
public final class ImportFile {
    private static let pieceBytes = 262_144

    /// The path, `-` for standard input.
    public let path: String
    /// Size in bytes; nil for a stream, which is not recognised again and always read from its beginning.
    let size: Int64?
    private let descriptor: Int32
    private var isKnownAsText = false
    private var piece = [UInt8](repeating: 0, count: ImportFile.pieceBytes)

    /// Opens it.
    public init(path: String) throws(ImportError) {
        self.path = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        var information = stat()
        guard descriptor >= 0, fstat(descriptor, &information) == 0 else { throw ImportFile.fault(path) }
        size = path != "-" && information.st_mode & S_IFMT == S_IFREG ? Int64(information.st_size) : nil
    }

    deinit {
        if path != "-", descriptor >= 0 { close(descriptor) }
    }

    /// Whether it is what a path names.
    func isSame(as path: String) -> Bool {
        var own = stat()
        var other = stat()
        return fstat(descriptor, &own) == 0 && stat(path, &other) == 0
            && own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }

    /// The next bytes; empty at the end.
    ///
    /// - Throws: also where the first ones show that it is no text in UTF-8.
    func read() throws(ImportError) -> [UInt8] {
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count >= 0 {
                if !isKnownAsText, let form = ImportFile.foreignForm(of: piece.prefix(count)) {
                    throw ImportError("\(path) \(form)")
                }
                isKnownAsText = true
                return Array(piece.prefix(count))
            }
            guard errno == EINTR else { throw ImportFile.fault(path) }
        }
    }

    /// What a file is that begins so, and what to do about it; nil for what may be text in UTF-8.
    static func foreignForm(of bytes: ArraySlice<UInt8>) -> String? {
        if bytes.starts(with: [0x1F, 0x8B]) { return "is compressed with gzip: unpack it first, gunzip" }
        if bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) {
            return "is a ZIP archive, perhaps of a spreadsheet: save it as CSV in UTF-8"
        }
        // With a byte order mark, or every other byte of the column names is zero.
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) || bytes.prefix(64).contains(0) {
            return "is not in UTF-8 but, it seems, in UTF-16: convert it, iconv -f UTF-16 -t UTF-8"
        }
        return nil
    }

    /// Goes on at another place.
    func seek(to offset: Int64) throws(ImportError) {
        guard lseek(descriptor, off_t(offset), SEEK_SET) == offset else { throw ImportFile.fault(path) }
    }

    /// The SHA-256 of the whole file, which then stands at its beginning.
    func digest() throws(ImportError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw ImportError("OpenSSL failed") }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { throw ImportError("OpenSSL failed") }
        try seek(to: 0)
        while true {
            let bytes = try read()
            guard !bytes.isEmpty else { break }
            guard EVP_DigestUpdate(context, bytes, bytes.count) == 1 else { throw ImportError("OpenSSL failed") }
        }
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw ImportError("OpenSSL failed") }
        try seek(to: 0)
        return digest
    }

    private static func fault(_ path: String) -> ImportError {
        ImportError("cannot read \(path): \(String(cString: strerror(errno)))")
    }
}
