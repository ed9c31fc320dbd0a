import Glibc
import TestSupport
import VerbatimJSON

/// One HTTP/1.1 request on a connection of its own. The request is on its way when the initialiser returns; several can
/// be begun before the first answer is read.
final class HTTPExchange {
    struct Answer {
        let status: Int
        let head: String
        let text: String

        var json: JSONValue {
            get throws { try JSONDocument(parsing: Array(text.utf8)).root }
        }

        /// The value of the first header field of that name.
        func header(_ name: String) -> String? {
            head.split(separator: "\r\n").lazy
                .map { $0.split(separator: ": ", maxSplits: 1) }
                .first { $0.count == 2 && $0[0].lowercased() == name.lowercased() }
                .map { String($0[1]) }
        }
    }

    private let connection: Int32

    /// - Parameter headers: lines without their end, such as `Authorization: Bearer x`.
    init(_ method: String, port: Int, _ target: String, headers: [String] = [], body: String? = nil) throws {
        connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var patience = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(connection, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw ChildProcess.Failure("nobody listens on port \(port)") }
        var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"] + headers
        if let body {
            lines += ["Content-Type: application/json", "Content-Length: \(body.utf8.count)"]
        }
        try send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    }

    deinit {
        close(connection)
    }

    /// Waits for the answer.
    func answer() throws -> Answer {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &part, part.count, 0)
            guard count >= 0 else { throw ChildProcess.Failure("the connection was lost before the answer") }
            if count == 0 { break }
            bytes.append(contentsOf: part.prefix(count))
        }
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)),
            let status = Int(String(decoding: bytes.dropFirst(9).prefix(3), as: UTF8.self))
        else {
            throw ChildProcess.Failure("no answer: \(String(decoding: bytes, as: UTF8.self))")
        }
        return Answer(
            status: status,
            head: String(decoding: bytes[..<end.lowerBound], as: UTF8.self),
            text: String(decoding: bytes[end.upperBound...], as: UTF8.self),
        )
    }

    private func send(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw ChildProcess.Failure("the connection was lost before the request was sent") }
            rest = rest.dropFirst(count)
        }
    }
}
