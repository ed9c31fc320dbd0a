/// A request line and its headers, checked beyond what http-parser checks.
struct RequestHead {
    let method: String
    let path: String
    let query: String?
    let headers: HTTPHeaders

    /// The body's length where the client named it.
    let contentLength: Int?

    /// Whether a body follows.
    let hasBody: Bool

    /// Whether the client waits for `100 Continue` before it sends the body.
    let expectsContinue: Bool

    /// Whether the client may send another request on the connection.
    let keepsAlive: Bool

    /// - Parameters:
    ///   - target: the second word of the request line.
    ///   - isChunked: whether http-parser will decode chunks.
    ///   - keepsAlive: whether http-parser found no `Connection: close`.
    init(
        method: String,
        version: (major: Int, minor: Int),
        target: [UInt8],
        headers: HTTPHeaders,
        isChunked: Bool,
        keepsAlive: Bool,
    ) throws(HTTPFault) {
        guard version == (1, 1) || version == (1, 0) else { throw .versionNotSupported }
        guard method != "CONNECT" else { throw .methodNotImplemented }
        let framing = try Framing(headers)
        let isOld = version == (1, 0)
        guard framing.hosts == 1 || (isOld && framing.hosts == 0) else { throw .malformedRequest }
        if framing.transferCodings > 0 {
            guard framing.contentLengths == 0, !isOld else { throw .malformedRequest }
            guard framing.isChunkedOnly, isChunked else { throw .transferCodingNotImplemented }
        }
        guard framing.contentLengths <= 1 else { throw .malformedRequest }
        guard isOld || framing.expectations == 0 || framing.expectsContinueOnly else { throw .expectationFailed }

        (self.path, self.query) = try RequestHead.split(target, method: method)
        self.method = method
        self.headers = headers
        self.contentLength = framing.contentLength
        self.hasBody = isChunked || framing.contentLength ?? 0 > 0
        self.expectsContinue = !isOld && framing.expectations > 0 && hasBody
        self.keepsAlive = keepsAlive && !isOld
    }

    /// A character of a method or a header name (RFC 9110, section 5.6.2).
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default:
            false
        }
    }

    /// Splits a request target in origin form, absolute form or `*` (RFC 9112, section 3.2).
    private static func split(
        _ target: [UInt8],
        method: String,
    ) throws(HTTPFault) -> (path: String, query: String?) {
        // http-parser as Debian builds it lets tabs and bytes beyond ASCII through.
        let isWellFormed = target.withUnsafeBufferPointer { target in
            target.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }
        }
        guard isWellFormed else { throw .targetNotEncoded }
        var rest = target[...]
        if rest.first != UInt8(ascii: "/") {
            if method == "OPTIONS", target == [UInt8(ascii: "*")] {
                return ("*", nil)
            }
            guard
                let schemeEnd = rest.firstIndex(of: UInt8(ascii: ":")),
                rest[schemeEnd...].starts(with: "://".utf8)
            else { throw .malformedRequest }
            rest = rest[schemeEnd...].dropFirst(3).drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        }
        let pathEnd = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let path = String(decoding: rest[..<pathEnd], as: UTF8.self)
        let query = pathEnd < rest.endIndex ? String(decoding: rest[pathEnd...].dropFirst(), as: UTF8.self) : nil
        return (path.isEmpty ? "/" : path, query)
    }
}

/// What the headers say about where the request ends, and about the host.
private struct Framing {
    var hosts = 0
    var contentLengths = 0
    var contentLength: Int?
    var transferCodings = 0
    var isChunkedOnly = false
    var expectations = 0
    var expectsContinueOnly = false

    init(_ headers: HTTPHeaders) throws(HTTPFault) {
        for field in headers.fields {
            // http-parser as Debian builds it lets blanks in names through: `Content-Length : 5`.
            let name = headers.bytes[field.nameStart..<field.nameEnd]
            guard name.allSatisfy(RequestHead.isTokenByte) else { throw .malformedRequest }
            let value = headers.bytes[field.valueStart..<field.valueEnd]
            switch name.count {
            case 4 where headers.matches(field, "Host"):
                hosts += 1
            case 6 where headers.matches(field, "Expect"):
                expectations += 1
                expectsContinueOnly = expectations == 1 && HTTPHeaders.equals(value, "100-continue")
            case 14 where headers.matches(field, "Content-Length"):
                contentLengths += 1
                guard let length = Framing.number(value) else { throw .malformedRequest }
                contentLength = length
            case 16 where headers.matches(field, "Content-Encoding"):
                // Else the body would be called broken JSON, and its sender would look for the fault there. What is no
                // coding, such as the UTF-8 that some clients write here, says nothing of the body.
                let isCompressed = ["gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"].contains {
                    HTTPHeaders.equals(value, $0)
                }
                guard !isCompressed else { throw .contentCodingNotImplemented }
            case 17 where headers.matches(field, "Transfer-Encoding"):
                transferCodings += 1
                isChunkedOnly = transferCodings == 1 && HTTPHeaders.equals(value, "chunked")
            default:
                break
            }
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard !digits.isEmpty else { return nil }
        var number = 0
        for digit in digits {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        return number
    }
}
