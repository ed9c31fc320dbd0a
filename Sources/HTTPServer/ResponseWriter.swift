import CHTTPParser
import Glibc

/// Puts answers on the wire format of HTTP/1.1. It keeps its buffer from one answer to the next.
struct ResponseWriter {
    /// The bytes of the last ``write(_:omitsBody:closes:)``.
    private(set) var bytes: [UInt8] = []

    private var date: [UInt8] = []
    private var dateSecond = -1

    private static let largestKeptCapacity = 64 * 1024

    /// - Parameters:
    ///   - omitsBody: for HEAD, which is told the length of the body that GET would have.
    ///   - closes: whether the connection ends after this answer.
    ///   - second: Unix time.
    mutating func write(_ response: HTTPResponse, omitsBody: Bool, closes: Bool, second: Int) {
        updateDate(second)
        bytes.removeAll(keepingCapacity: bytes.capacity <= ResponseWriter.largestKeptCapacity)
        if response.status == 200 {
            append("HTTP/1.1 200 OK\r\nDate: ")
        } else {
            append("HTTP/1.1 \(response.status) \(ResponseWriter.reason(response.status))\r\nDate: ")
        }
        bytes.append(contentsOf: date)
        for (name, value) in response.headers where !ResponseWriter.isOwned(name) {
            append("\r\n")
            appendWithoutBreaks(name)
            append(": ")
            appendWithoutBreaks(value)
        }
        let hasBody = response.status != 204 && response.status != 304
        if hasBody {
            append("\r\nContent-Length: ")
            append(String(response.body.count))
        }
        if closes { append("\r\nConnection: close") }
        append("\r\n\r\n")
        if hasBody, !omitsBody {
            bytes.append(contentsOf: response.body)
        }
    }

    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }

    /// A value may stem from user data; a line break in it would start a header, or an answer, of the user's making.
    private mutating func appendWithoutBreaks(_ text: String) {
        let start = bytes.count
        var text = text
        let hasBreak = text.withUTF8 { text in
            bytes.append(contentsOf: text)
            return text.contains(where: ResponseWriter.isBreak)
        }
        guard hasBreak else { return }
        for index in start..<bytes.count where ResponseWriter.isBreak(bytes[index]) {
            bytes[index] = UInt8(ascii: " ")
        }
    }

    private static func isBreak(_ byte: UInt8) -> Bool {
        byte == 0 || byte == 10 || byte == 13
    }

    private mutating func updateDate(_ second: Int) {
        guard second != dateSecond else { return }
        dateSecond = second
        var second = second
        var parts = tm()
        gmtime_r(&second, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
        let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        date = Array("\(day) \(parts.tm_year + 1900) \(time) GMT".utf8)
    }

    private static func isOwned(_ name: String) -> Bool {
        switch name.utf8.count {
        case 4: name.lowercased() == "date"
        case 10: name.lowercased() == "connection"
        case 14: name.lowercased() == "content-length"
        case 17: name.lowercased() == "transfer-encoding"
        default: false
        }
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 100...599: String(cString: http_status_str(http_status(rawValue: UInt32(status))))
        default: "Unknown"
        }
    }
}
