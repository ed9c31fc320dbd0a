import Glibc

/// One keep-alive connection of the driver, with the requests that are under way on it.
final class DriverConnection {
    let descriptor: Int32
    /// The messages whose answers are awaited, oldest first.
    private(set) var messages: [Int] = []
    private var output: [UInt8] = []
    private var sent = 0
    private var input: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 65_536)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    var hasOutput: Bool { sent < output.count }

    /// Puts a request behind the others; ``write()`` sends it.
    func post(_ request: [UInt8], _ message: Int) {
        if !hasOutput {
            output.removeAll(keepingCapacity: true)
            sent = 0
        }
        output.append(contentsOf: request)
        messages.append(message)
    }

    func write() throws(CommandFailure) {
        while hasOutput {
            let count = output[sent...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else {
                guard errno == EAGAIN || errno == EINTR else { throw CommandFailure("the gateway closed a connection") }
                return
            }
            sent += count
        }
    }

    /// Reads what is there.
    ///
    /// - Parameter body: called with each message and the body of its answer, in order.
    func read(_ body: (Int, UnsafeRawBufferPointer) -> Void) throws(CommandFailure) {
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EAGAIN || errno == EINTR { break }
            guard count > 0 else { throw CommandFailure("the gateway closed a connection") }
            input.append(contentsOf: chunk[..<count])
            if count < chunk.count { break }
        }
        var start = 0
        while let answer = try nextAnswer(from: start), !messages.isEmpty {
            let message = messages.removeFirst()
            input.withUnsafeBytes { body(message, UnsafeRawBufferPointer(rebasing: $0[answer])) }
            start = answer.upperBound
        }
        input.removeFirst(start)
    }

    private static let headEnd = Array("\r\n\r\n".utf8)
    private static let lengthName = Array("\r\nContent-Length: ".utf8)

    /// Where the body of the answer that begins at `start` is; nil if it is not all there.
    private func nextAnswer(from start: Int) throws(CommandFailure) -> Range<Int>? {
        guard let end = find(DriverConnection.headEnd, in: start..<input.count) else { return nil }
        guard let length = find(DriverConnection.lengthName, in: start..<end + 2) else {
            throw CommandFailure("an answer of the gateway has no Content-Length")
        }
        var count = 0
        for byte in input[(length + DriverConnection.lengthName.count)...] {
            guard case UInt8(ascii: "0")...UInt8(ascii: "9") = byte, count < 1 << 30 else { break }
            count = count * 10 + Int(byte - UInt8(ascii: "0"))
        }
        let body = end + DriverConnection.headEnd.count
        return body + count <= input.count ? body..<body + count : nil
    }

    private func find(_ text: [UInt8], in range: Range<Int>) -> Int? {
        input.withUnsafeBytes { bytes in
            ByteSearch.first(
                text,
                in: UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound]),
                from: range.lowerBound
            )
        }
    }
}
