import Glibc
import Testing

/// A blocking TCP client that sends what it is told and reads what comes; nothing of it knows HTTP but ``Answer``.
/// Sendable: what it holds is constant but `received`, which only the reader touches, on one thread at a time; another may only send.
final class Client: @unchecked Sendable {
    private let descriptor: Int32
    private var received: [UInt8] = []

    /// - Parameter receiveBuffer: the kernel's, in bytes; nil for its default.
    init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        var seconds = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &seconds, socklen_t(MemoryLayout<timeval>.size))
        var noDelay: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Refused() }
    }

    deinit {
        close(descriptor)
    }

    /// - Returns: whether the kernel took all of it.
    @discardableResult
    func send(_ text: String) -> Bool {
        send(Array(text.utf8))
    }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    func finishWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Makes the close of this client a reset.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    struct Refused: Error {}

    enum End: Equatable {
        case closed
        case reset
        case timeout
    }

    /// Reads to the end of the stream.
    func readToEnd() -> (text: String, end: End) {
        while true {
            let count = readSome()
            guard count <= 0 else { continue }
            defer { received = [] }
            let end: End = count == 0 ? .closed : errno == ECONNRESET ? .reset : .timeout
            return (String(decoding: received, as: UTF8.self), end)
        }
    }

    /// Reads up to and with `text`.
    func read(through text: String) throws -> String {
        while true {
            let soFar = String(decoding: received, as: UTF8.self)
            if let range = soFar.firstRange(of: text) {
                let part = String(soFar[..<range.upperBound])
                received.removeFirst(part.utf8.count)
                return part
            }
            try #require(readSome() > 0, "the stream ended at \(soFar)")
        }
    }

    /// Reads one answer that has a Content-Length and a body.
    func readAnswer(hasBody: Bool = true) throws -> Answer {
        let head = try read(through: "\r\n\r\n")
        var answer = try #require(Answer(head: head))
        let length = hasBody ? try #require(answer.headers["content-length"].flatMap { Int($0) }) : 0
        while received.count < length {
            try #require(readSome() > 0)
        }
        answer.body = String(decoding: received.prefix(length), as: UTF8.self)
        received.removeFirst(length)
        return answer
    }

    private func readSome() -> Int {
        var bytes = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        if count > 0 {
            received.append(contentsOf: bytes.prefix(count))
        }
        return count
    }
}

struct Answer {
    let status: Int
    let headers: [String: String]
    var body = ""

    init?(head: String) {
        let lines = head.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 3, words[0] == "HTTP/1.1", let status = Int(words[1]) else { return nil }
        self.status = status
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[colon...].dropFirst().drop { $0 == " " }
            headers[line[..<colon].lowercased()] = String(value)
        }
        self.headers = headers
    }
}
