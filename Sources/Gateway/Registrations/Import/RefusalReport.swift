import Glibc

/// The report of refused lines: a CSV file with line, field and reason. It is there only if a line was refused.
public final class RefusalReport {
    private static let header = Array("line,field,reason\r\n".utf8)

    /// Where it is.
    public let path: String
    /// How long it is; 0: there is none.
    private(set) var size: Int64 = 0
    private var descriptor: Int32 = -1

    /// - Parameter path: a file of that name is written over, unless an import goes on. What is no regular file, such as
    ///   /dev/null or a pipe, is written to as it is.
    public init(path: String) {
        self.path = path
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Begins anew, or goes on where the last stored batch left it.
    func begin(at size: Int64) throws(ImportError) {
        var information = stat()
        guard size > 0 else {
            // Only what an earlier run may have left: root could remove a device.
            guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return }
            guard unlink(path) == 0 else { throw fault() }
            return
        }
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0, fstat(descriptor, &information) == 0 else { throw fault() }
        guard information.st_mode & S_IFMT == S_IFREG else {
            self.size = size
            return
        }
        let end = lseek(descriptor, 0, SEEK_END)
        // What follows is of a batch that was not stored, and will come again.
        self.size = min(size, Int64(end))
        guard end >= 0, ftruncate(descriptor, off_t(self.size)) == 0, lseek(descriptor, 0, SEEK_END) >= 0 else {
            throw fault()
        }
    }

    func add(_ refusals: [ImportRefusal]) throws(ImportError) {
        guard !refusals.isEmpty else { return }
        if descriptor < 0 {
            descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { throw fault() }
        }
        var bytes = size == 0 ? RefusalReport.header : []
        for refusal in refusals {
            bytes.append(contentsOf: "\(refusal.line),\(refusal.field),\"\(refusal.reason)\"\r\n".utf8)
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else { throw fault() }
            rest = rest.dropFirst(written)
        }
        size += Int64(bytes.count)
    }

    private func fault() -> ImportError {
        ImportError("cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
