import HTTPServer
import Testing

@Suite("HTTPServer refuses", .timeLimit(.minutes(5)))
struct HTTPServerRefusalTests {
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let request: String
        let status: Int
        let word: String

        init(_ name: String, _ request: String, _ status: Int, _ word: String = "malformed_request") {
            self.testDescription = name
            self.request = request
            self.status = status
            self.word = word
        }
    }

    static let cases = [
        Case("what is no HTTP", "\u{16}\u{3}\u{1} hello\r\n\r\n", 400),
        Case("JSON without a request line", "{\"a\": 1}\r\n\r\n", 400),
        Case("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
        Case("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", 400),
        Case("two Content-Lengths that differ", post("Content-Length: 3\r\nContent-Length: 4") + "abcd", 400),
        Case("two Content-Lengths that agree", post("Content-Length: 3\r\nContent-Length: 3") + "abc", 400),
        Case("a list as Content-Length", post("Content-Length: 3, 3") + "abc", 400),
        Case("a signed Content-Length", post("Content-Length: +3") + "abc", 400),
        Case("an empty Content-Length", post("Content-Length:"), 400),
        Case("a huge Content-Length", post("Content-Length: 99999999999999999999999"), 400),
        Case("Content-Length and chunked", post("Content-Length: 3\r\nTransfer-Encoding: chunked") + "0\r\n\r\n", 400),
        Case("chunked and Content-Length", post("Transfer-Encoding: chunked\r\nContent-Length: 3") + "0\r\n\r\n", 400),
        Case(
            "chunked twice",
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked") + "0\r\n\r\n",
            501,
            "transfer_coding_not_implemented"
        ),
        Case(
            "gzip under chunked",
            post("Transfer-Encoding: gzip, chunked") + "0\r\n\r\n",
            501,
            "transfer_coding_not_implemented"
        ),
        Case("chunked not last", post("Transfer-Encoding: chunked, gzip"), 400),
        Case("chunked in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        Case("a bad chunk size", post("Transfer-Encoding: chunked") + "-1\r\n", 400),
        Case("a folded line", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n", 400),
        Case("a blank before the colon", post("Content-Length : 3") + "abc", 400),
        Case("a blank in a name", "GET / HTTP/1.1\r\nHost: a\r\nX A: b\r\n\r\n", 400),
        Case("a lone CR", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\rc\r\n\r\n", 400),
        Case("a NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\n\r\n", 400),
        Case("a tab in the target", "GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", 400, "target_not_encoded"),
        Case("raw UTF-8 in the target", "GET /ä HTTP/1.1\r\nHost: a\r\n\r\n", 400, "target_not_encoded"),
        Case("a fragment in the target", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400, "target_not_encoded"),
        Case("a target without slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        Case("an unknown method", "FETCH / HTTP/1.1\r\nHost: a\r\n\r\n", 501, "method_not_implemented"),
        Case("a method in small letters", "get / HTTP/1.1\r\nHost: a\r\n\r\n", 501, "method_not_implemented"),
        Case("CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501, "method_not_implemented"),
        Case("HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, "http_version_not_supported"),
        Case("HTTP/0.9", "GET /\r\n\r\n", 505, "http_version_not_supported"),
        Case("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 501, "method_not_implemented"),
        Case(
            "a compressed body",
            post("Content-Length: 3\r\nContent-Encoding: gzip") + "abc",
            415,
            "content_coding_not_implemented"
        ),
        Case("another expectation", post("Content-Length: 3\r\nExpect: cake") + "abc", 417, "expectation_failed"),
        Case("a long body", post("Content-Length: 1001"), 413, "body_too_large"),
        Case(
            "a long sum of chunks",
            post("Transfer-Encoding: chunked") + chunk(600) + chunk(401),
            413,
            "body_too_large"
        ),
        Case(
            "a long head",
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 2000))\r\n\r\n",
            431,
            "head_too_large"
        ),
        Case("a long head without end", "GET /\(String(repeating: "x", count: 2000))", 431, "head_too_large"),
    ]

    static func post(_ headers: String) -> String { "POST / HTTP/1.1\r\nHost: a\r\n\(headers)\r\n\r\n" }
    static func chunk(_ size: Int) -> String {
        "\(String(size, radix: 16))\r\n\(String(repeating: "x", count: size))\r\n"
    }

    static var configuration: HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration()
        configuration.maximumHeadBytes = 1000
        configuration.maximumBodyBytes = 1000
        return configuration
    }

    @Test("with JSON and a close, and runs nothing of what follows", arguments: cases)
    func refusal(_ example: Case) async throws {
        let server = try await ServerUnderTest.started(HTTPServerRefusalTests.configuration)
        let client = try Client(port: server.port)
        client.send(example.request + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try client.readAnswer()
        #expect(answer.status == example.status)
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.headers["connection"] == "close")
        #expect(answer.body.hasPrefix(#"{"error":{"code":"\#(example.word)","message":""#))
        let rest = client.readToEnd()
        #expect(rest.text == "")
        #expect(rest.end == .closed)
        #expect(await server.requests.isEmpty)
        #expect(await server.refusals == [example.word: 1])
        await server.stop()
    }

    @Test("the same, byte by byte", arguments: cases)
    func refusalOfSingleBytes(_ example: Case) async throws {
        let server = try await ServerUnderTest.started(HTTPServerRefusalTests.configuration)
        let client = try Client(port: server.port)
        for byte in example.request.utf8 {
            guard client.send([byte]) else { break }
        }
        client.finishWriting()
        let answer = try client.readAnswer()
        #expect(answer.status == example.status)
        #expect(client.readToEnd().end == .closed)
        await server.stop()
    }

    @Test("not a body whose Content-Encoding names no compression", arguments: ["", "identity", "UTF-8"])
    func noCompression(_ coding: String) async throws {
        let server = try await ServerUnderTest.started(HTTPServerRefusalTests.configuration)
        let client = try Client(port: server.port)
        client.send(HTTPServerRefusalTests.post("Content-Length: 3\r\nContent-Encoding: \(coding)") + "abc")
        #expect(try client.readAnswer().status == 200)
        #expect(await server.requests.count == 1)
        await server.stop()
    }

    @Test("a body that is still being sent, without a reset")
    func largeBodyReadsAnswer() async throws {
        let server = try await ServerUnderTest.started(HTTPServerRefusalTests.configuration)
        let client = try Client(port: server.port)
        client.send(HTTPServerRefusalTests.post("Content-Length: 1000000") + String(repeating: "x", count: 1_000_000))
        #expect(try client.readAnswer().status == 413)
        #expect(client.readToEnd().end == .closed)
        await server.stop()
    }

    @Test("a truncated request of a client that finished writing")
    func truncatedRequest() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send(HTTPServerRefusalTests.post("Content-Length: 10") + "abc")
        client.finishWriting()
        #expect(try client.readAnswer().status == 400)
        #expect(client.readToEnd().end == .closed)
        await server.stop()
    }

    @Test("with the owner's error body; HEAD without any")
    func ownErrorBody() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.errorBody = { Array("\($0.status) \($0.word) \($0.path)".utf8) }
        let server = try await ServerUnderTest.started(configuration)
        let client = try Client(port: server.port)
        client.send("GET / HTTP/1.1\r\n\r\n")
        #expect(try client.readAnswer().body == "400 malformed_request /")
        let head = try Client(port: server.port)
        head.send("HEAD / HTTP/1.1\r\n\r\n")
        #expect(try head.readAnswer(hasBody: false).headers["content-length"] == "23")
        #expect(head.readToEnd().text == "")
        await server.stop()
    }

    @Test("connections beyond the limit, and serves again when one has gone")
    func connectionLimit() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.maximumConnections = 1
        let server = try await ServerUnderTest.started(configuration)
        var first: Client? = try Client(port: server.port)
        first?.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try first?.readAnswer().status == 200)
        let second = try Client(port: server.port)
        let answer = try second.readAnswer()
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] == "1")
        #expect(answer.headers["connection"] == "close")
        #expect(answer.body.contains("too_many_connections"))
        #expect(second.readToEnd().end == .closed)
        first = nil
        try await server.wait(until: { $0.openConnections == 0 })
        let third = try Client(port: server.port)
        third.send("GET /3 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try third.readAnswer().status == 200)
        await server.stop()
    }
}
