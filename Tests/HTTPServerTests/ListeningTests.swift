import Glibc
import HTTPServer
import Testing

@Suite("ListeningSocket and closing", .timeLimit(.minutes(5)))
struct ListeningTests {
    @Test(
        "an address is read in both forms",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1", 8080), ("[::1]:0", "::1", 0), ("0.0.0.0:65535", "0.0.0.0", 65535),
        ]
    )
    func address(_ text: String, _ host: String, _ port: UInt16) throws {
        let address = try ListenAddress(parsing: text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.description == text)
    }

    @Test(
        "what is no numeric address and port is refused",
        arguments: [
            "", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
            "localhost:80",
            "::1:80", "[::1]", "[]:80", "[127.0.0.1]:80", "256.0.0.1:80", "127.0.0.1:8 0", "127.0.0.1: 80",
        ]
    )
    func badAddress(_ text: String) {
        let error = #expect(throws: HTTPServerError.self) { try ListenAddress(parsing: text) }
        #expect(error?.kind == .invalidAddress)
    }

    @Test("several sockets share one free port; two lanes on them serve all connections")
    func twoLanes() async throws {
        let sockets = try ListeningSocket.bind(ListenAddress(parsing: "127.0.0.1:0"), count: 2)
        try #require(sockets.count == 2)
        #expect(sockets[0].port != 0 && sockets[0].port == sockets[1].port)
        let first = try await ServerUnderTest.started(socket: sockets[0])
        let second = try await ServerUnderTest.started(socket: sockets[1])
        for _ in 0..<64 {
            let client = try Client(port: first.port)
            client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try client.readAnswer().status == 200)
        }
        let counts = await (first.requests.count, second.requests.count)
        #expect(counts.0 + counts.1 == 64)
        #expect(counts.0 > 0 && counts.1 > 0)
        await first.stop()
        await second.stop()
    }

    @Test("a taken port is an error that names it, also one whose owner would share it", arguments: [false, true])
    func takenPort(isShared: Bool) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var on: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        if isShared {
            setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) + listen(listener, 1) + getsockname(listener, $0, &length)
            }
        }
        try #require(result == 0)
        let taken = try ListenAddress(parsing: "127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
        let error = #expect(throws: HTTPServerError.self) { try ListeningSocket.bind(taken, count: 2) }
        #expect(error?.kind == .addressInUse)
        #expect(error?.description.contains(taken.description) == true)
    }

    @Test("a port whose old connections are in TIME_WAIT is free")
    func restart() async throws {
        let server = try await ServerUnderTest.started()
        let client = try Client(port: server.port)
        client.send("GET /a HTTP/1.0\r\n\r\n")
        #expect(client.readToEnd().end == .closed)
        try await server.with { $0.close() }
        await server.stop()
        let again = try ListeningSocket.bind(ListenAddress(parsing: "127.0.0.1:\(server.port)"), count: 1)
        #expect(again.first?.port == server.port)
    }

    @Test("a socket can be given to one server only")
    func socketUsedTwice() async throws {
        let socket = try #require(try ListeningSocket.bind(ListenAddress(parsing: "127.0.0.1:0"), count: 1).first)
        let server = try await ServerUnderTest.started(socket: socket)
        let error = await #expect(throws: HTTPServerError.self) {
            try await server.with { try $0.accept(on: socket) }
        }
        #expect(error?.kind == .socketAlreadyUsed)
        await server.stop()
    }

    @Test("an IPv6 client's address is known")
    func version6() async throws {
        let socket = try #require(try ListeningSocket.bind(ListenAddress(parsing: "[::1]:0"), count: 1).first)
        let server = try await ServerUnderTest.started(socket: socket)
        let pipe = try #require(popen("curl -sS -o /dev/null -m 10 -g 'http://[::1]:\(server.port)/a'", "r"))
        #expect(pclose(pipe) == 0)
        #expect(await server.requests.map(\.remoteAddress) == ["::1"])
        await server.stop()
    }

    @Test("closing step by step leaves no request unanswered")
    func drain() async throws {
        let server = try await ServerUnderTest.started()
        let request = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
        let kept = try Client(port: server.port)
        kept.send(request)
        #expect(try kept.readAnswer().headers["connection"] == nil)
        let idle = try Client(port: server.port)
        idle.send(request)
        #expect(try idle.readAnswer().status == 200)

        try await server.with { $0.announceClose() }
        let late = try Client(port: server.port)
        late.send(request)
        #expect(try late.readAnswer().headers["connection"] == "close")
        #expect(late.readToEnd().end == .closed)

        let port = server.port
        // All of these are queued in the kernel, requests included, while the loop's thread is here.
        let queued = try await server.with { server in
            let queued = try (0..<40).map { _ in
                let client = try Client(port: port)
                client.send(request)
                return client
            }
            kept.send(request)
            server.stopAccepting()
            server.closeIdleConnections()
            return queued
        }
        for client in queued + [kept] {
            let answer = try client.readAnswer()
            #expect(answer.status == 200)
            #expect(answer.headers["connection"] == "close")
            #expect(client.readToEnd().end == .closed)
        }
        #expect(idle.readToEnd() == ("", .closed))
        try await server.wait { $0.openConnections == 0 }
        #expect(throws: Client.Refused.self) { try Client(port: server.port) }
        await server.stop()
    }

    @Test("close ends everything at once")
    func closeAll() async throws {
        let server = try await ServerUnderTest.started()
        let held = try Client(port: server.port)
        held.send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n")
        try await server.wait { $0.pendingExchanges == 1 }
        try await server.with { $0.close() }
        #expect(held.readToEnd().text == "")
        #expect(await server.openConnections == 0)
        #expect(await server.pendingExchanges == 0)
        await server.release()
        await server.stop()
    }
}
