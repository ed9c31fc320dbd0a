import Glibc
import HTTPServer
import Testing

@Suite("HTTPServer", .timeLimit(.minutes(5)))
struct HTTPServerTests {
    @Test("answers with length, date and the handler's headers, and keeps the connection")
    func keepsConnection() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        for path in ["/a", "/b?c=%20d"] {
            client.send("\r\n\r\nGET \(path) HTTP/1.1\r\nHost: a\r\nX-One:  1 \t\r\nx-one: 2\r\n\r\n")
            let answer = try client.readAnswer()
            #expect(answer.status == 200)
            #expect(answer.headers["connection"] == nil)
            #expect(answer.headers["date"]?.hasSuffix(" GMT") == true)
            #expect(answer.headers["x-path"] == String(path.prefix(2)))
        }
        let requests = await server.requests
        #expect(requests.map(\.path) == ["/a", "/b"])
        #expect(requests.map(\.query) == [nil, "c=%20d"])
        #expect(requests.map(\.remoteAddress) == ["127.0.0.1", "127.0.0.1"])
        #expect(requests.first?.headers.all(named: "X-ONE") == ["1", "2"])
        await server.stop()
    }

    static let bodies = [
        ("with a length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
        (
            "in chunks",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;e=f\r\nllo\r\n0\r\n\r\n"
        ),
        (
            "with a trailer",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nHost: b\r\n\r\n"
        ),
        ("to an absolute target", "POST http://a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
        (
            "with an upgrade",
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello"
        ),
        ("with bare line feeds", "POST / HTTP/1.1\nHost: a\nContent-Length: 5\n\nhello"),
    ]

    @Test("takes a body, in one piece and byte by byte, and the request behind it", arguments: bodies)
    func body(_ name: String, _ request: String) async throws {
        let server = try await ServerUnderTest.started()
        let whole = try Client(port: server.port)
        whole.send(request + request)
        #expect(try whole.readAnswer().body == "POST / hello")
        #expect(try whole.readAnswer().body == "POST / hello")
        let single = try Client(port: server.port)
        for byte in (request + request).utf8 {
            single.send([byte])
        }
        #expect(try single.readAnswer().body == "POST / hello")
        #expect(try single.readAnswer().body == "POST / hello")
        #expect(await server.requests.allSatisfy { $0.headers.all(named: "host") == ["a"] })
        await server.stop()
    }

    @Test("ignores an upgrade of a request without body")
    func upgradeWithoutBody() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
        #expect(try client.readAnswer().status == 200)
        client.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.readAnswer().body == "GET /b ")
        await server.stop()
    }

    @Test("takes bodies of the largest size")
    func largestBody() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        let size = HTTPServerConfiguration().maximumBodyBytes
        client.send(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n" + String(repeating: "x", count: size)
        )
        #expect(try client.readAnswer().body.utf8.count == "POST / ".utf8.count + size)
        await server.stop()
    }

    @Test("hands over one request of a connection at a time, and answers in order")
    func pipelining() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send(
            "GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n"
        )
        try await server.wait { $0.pendingExchanges == 1 }
        #expect(await server.requests.map(\.path) == ["/hold"])
        await server.release()
        #expect(try client.readAnswer().body == "released")
        #expect(try client.readAnswer().body == "GET /b ")
        #expect(try client.readAnswer().body == "GET /c ")
        #expect(await server.pendingExchanges == 0)
        await server.stop()
    }

    @Test("reads only so far ahead while a request is under way")
    func readAheadIsBounded() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        let request = "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n" + String(repeating: request, count: 4000))
        try await server.wait { $0.pendingExchanges == 1 }
        await server.release()
        #expect(try client.readAnswer().body == "released")
        for _ in 0..<4000 {
            #expect(try client.readAnswer().body == "GET /b ")
        }
        await server.stop()
    }

    @Test("answers a client that finished writing, all its requests, then closes")
    func halfClosedClient() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        client.finishWriting()
        try await server.wait { $0.pendingExchanges == 1 }
        await server.release()
        #expect(try client.readAnswer().body == "released")
        #expect(try client.readAnswer().body == "GET /b ")
        #expect(client.readToEnd().end == .closed)
        try await server.wait { $0.openConnections == 0 }
        await server.stop()
    }

    @Test("forgets the request of a client that is gone; its answer goes nowhere")
    func clientGone() async throws {
        let server = try await ServerUnderTest.started()
        var client: Client? = try Client(port: server.port)
        client?.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        try await server.wait { $0.pendingExchanges == 1 }
        client?.resetOnClose()
        client = nil
        try await server.wait { $0.openConnections == 0 }
        #expect(await server.pendingExchanges == 0)
        await server.release()
        let next = try Client(port: server.port)
        next.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try next.readAnswer().status == 200)
        await server.stop()
    }

    @Test("ignores a second answer to one request")
    func secondAnswer() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        try await server.wait { $0.pendingExchanges == 1 }
        let exchange = try #require(await server.held.first)
        await server.release()
        try await server.with { $0.respond(HTTPResponse(status: 500, body: []), to: exchange) }
        #expect(try client.readAnswer().body == "released")
        client.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.readAnswer().body == "GET /b ")
        await server.stop()
    }

    @Test(
        "closes after HTTP/1.0 and after Connection: close",
        arguments: [
            "GET /a HTTP/1.0\r\n\r\n",
            "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        ]
    )
    func closes(_ request: String) async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send(request + "GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try client.readAnswer()
        #expect(answer.status == 200)
        #expect(answer.headers["connection"] == "close")
        let rest = client.readToEnd()
        #expect(rest.text == "" && rest.end == .closed)
        #expect(await server.requests.count == 1)
        await server.stop()
    }

    @Test("answers HEAD without a body")
    func headMethod() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.readAnswer(hasBody: false).headers["content-length"] == "8")
        #expect(try client.readAnswer().body == "GET /b ")
        await server.stop()
    }

    @Test("says 100 Continue to a client that waits, and not to one that does not")
    func continuation() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n"
        client.send(head)
        #expect(try client.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("hello")
        #expect(try client.readAnswer().body == "POST / hello")
        client.send(head + "hello")
        #expect(try client.readAnswer().status == 200)
        await server.stop()
    }

    @Test("sends an answer larger than the kernel's buffers, and the next one behind it")
    func largeAnswer() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.readAnswer().body.utf8.count == 8 << 20)
        #expect(try client.readAnswer().body == "GET /b ")
        await server.stop()
    }

    @Test("can be dropped with requests under way")
    func dropped() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        try await server.wait { $0.pendingExchanges == 1 }
        await server.stop()
        #expect(client.readToEnd().text == "")
    }

    @Test("serves curl: chunked upload with 100-continue, two requests on one connection")
    func curl() async throws {
        let server = try await ServerUnderTest.started()
        let command =
            "printf hello | curl -sS -m 10 -T - -X POST -H 'Expect: 100-continue' http://127.0.0.1:\(server.port)/a"
            + " --next -sS -m 10 -w ' %{http_code} %{num_connects}' http://127.0.0.1:\(server.port)/b 2>&1"
        let pipe = try #require(popen(command, "r"))
        var output = [UInt8](repeating: 0, count: 1000)
        let count = fread(&output, 1, output.count, pipe)
        #expect(pclose(pipe) == 0)
        #expect(String(decoding: output.prefix(count), as: UTF8.self) == "POST /a helloGET /b  200 0")
        await server.stop()
    }
}
