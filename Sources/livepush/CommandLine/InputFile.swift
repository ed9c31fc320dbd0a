import Glibc

/// Reads small files that commands are given: keys, messages.
enum InputFile {
    private static let maximumBytes = 1 << 20

    /// The bytes of a file, `-` for standard input. A trailing newline stays.
    ///
    /// - Parameter option: that names the file; nil: it is an operand.
    static func read(_ path: String, option: String?) throws(CommandFailure) -> [UInt8] {
        let place = option.map { "--\($0): " } ?? ""
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandFailure("\(place)cannot read \(path): \(String(cString: strerror(errno)))")
        }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                throw CommandFailure("\(place)cannot read \(path): \(String(cString: strerror(errno)))")
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk.prefix(count))
            guard bytes.count <= maximumBytes else { throw CommandFailure("\(place)\(path) is too large") }
        }
    }

    /// The same without trailing line ends, which editors and `echo` add.
    static func readTrimmed(_ path: String, option: String) throws(CommandFailure) -> [UInt8] {
        var bytes = try read(path, option: option)
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            bytes.removeLast()
        }
        return bytes
    }
}
