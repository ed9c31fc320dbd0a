import EventLoop
import Glibc
import HTTPServer
import Testing

@Suite("HTTPServer deadlines", .timeLimit(.minutes(5)))
struct HTTPServerDeadlineTests {
    private static var short: HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration()
        configuration.headDeadline = .milliseconds(400)
        configuration.bodyDeadline = .milliseconds(400)
        configuration.idleDeadline = .milliseconds(400)
        configuration.answerDeadline = .milliseconds(400)
        configuration.lingerDeadline = .milliseconds(400)
        return configuration
    }

    @Test(
        "cut a client that trickles, in the head and in the body, at the total time",
        arguments: [
            "GET / HTTP/1.1\r\nX-A: ",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n",
        ]
    )
    func trickle(_ start: String) async throws {
        let server = try await ServerUnderTest.started(HTTPServerDeadlineTests.short)
        let client = try Client(port: server.port)
        client.send(start)
        // Each byte comes well within the deadline; all of them would take two seconds.
        async let sent = runBlockingWork {
            (0..<100).prefix { _ in
                usleep(20_000)
                return client.send("x")
            }.count
        }
        let answer = try #require(await runBlockingWork { try? client.readAnswer() })
        #expect(answer.status == 408)
        #expect(answer.headers["connection"] == "close")
        #expect(answer.body.contains("request_timeout"))
        let count = await sent
        #expect(count > 0 && count < 100)
        #expect(await server.requests.isEmpty)
        await server.stop()
    }

    @Test("close a silent connection without a word, new or kept", arguments: [false, true])
    func silence(isKept: Bool) async throws {
        let server = try await ServerUnderTest.started(HTTPServerDeadlineTests.short)
        let client = try Client(port: server.port)
        if isKept {
            client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.readAnswer().status == 200)
        }
        let rest = await runBlockingWork { client.readToEnd() }
        #expect(rest.text == "" && rest.end == .closed)
        await server.stop()
    }

    @Test("drop a client that does not read its answer")
    func clientDoesNotRead() async throws {
        let server = try await ServerUnderTest.started(HTTPServerDeadlineTests.short)
        let client = try Client(port: server.port, receiveBuffer: 4096)
        client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        try await server.wait { $0.requests.count == 1 && $0.openConnections == 0 }
        let rest = client.readToEnd()
        #expect(rest.text.utf8.count < 8 << 20 && rest.end == .reset)
        await server.stop()
    }

    @Test("drop a client that stays after its last answer")
    func clientStays() async throws {
        let server = try await ServerUnderTest.started(HTTPServerDeadlineTests.short)
        let client = try Client(port: server.port)
        client.send("GET /a HTTP/1.0\r\n\r\n")
        #expect(await runBlockingWork { client.readToEnd().end } == .closed)
        try await server.wait { $0.openConnections == 0 }
        await server.stop()
    }

    @Test("do not run while the handler works")
    func handlerMayTakeLong() async throws {
        let server = try await ServerUnderTest.started(HTTPServerDeadlineTests.short)
        let client = try Client(port: server.port)
        client.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        try await server.wait { $0.pendingExchanges == 1 }
        try await Task.sleep(for: .milliseconds(900))
        await server.release()
        #expect(try client.readAnswer().body == "released")
        await server.stop()
    }
}
