import Glibc
import TestSupport

/// Where things are.
enum Paths {
    /// The scripts that play the other side.
    static let peers = String(#filePath.prefix(upTo: #filePath.lastIndex(of: "/") ?? #filePath.endIndex)) + "/Peers"

    /// The clone.
    static let package = peers.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(
        separator: "/"
    )

    /// The executable that was built with these tests.
    static let livepush = {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        let test = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (test.lastIndex(of: "/").map { String(test[...$0]) } ?? "") + "livepush"
    }()

    /// The Python of Deploy/test, with Tencent's client from PyPI in it; nil before Deploy/test has run once.
    static let python: String? = {
        let path = package + "/.build/python/bin/python"
        return access(path, X_OK) == 0 ? path : nil
    }()
}
