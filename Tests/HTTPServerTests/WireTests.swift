import EventLoop
import Testing

@testable import HTTPServer

@Suite("HTTPServer parts", .timeLimit(.minutes(5)))
struct WireTests {
    private func scan(_ parts: [String], limit: Int = 1000) -> [HeadScanner.Result] {
        var scanner = HeadScanner(limit: limit)
        return parts.map { part in Array(part.utf8).withUnsafeBytes { scanner.scan($0) } }
    }

    @Test(
        "the end of a head is found wherever the pieces are cut",
        arguments: [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "GET / HTTP/1.1\r\nHost: a\n\r\n",
        ]
    )
    func endOfHead(_ head: String) {
        #expect(scan([head + "body"]) == [.complete(count: head.utf8.count)])
        for cut in 1..<head.utf8.count {
            let parts = [String(head.prefix(cut)), String(head.dropFirst(cut)) + "body"]
            guard parts[0].utf8.count + parts[1].utf8.count == head.utf8.count + 4,
                parts[0].utf8.count < head.utf8.count
            else { continue }
            #expect(scan(parts) == [.incomplete, .complete(count: parts[1].utf8.count - 4)])
        }
    }

    @Test("a folded line is seen, also across a cut")
    func folded() {
        #expect(scan(["GET / HTTP/1.1\r\nA: b\r\n c"]) == [.folded])
        #expect(scan(["GET / HTTP/1.1\r\nA: b\r\n", "\tc"]) == [.incomplete, .folded])
        #expect(scan(["GET / HTTP/1.1\n \n\n"]) == [.folded])
    }

    @Test("the limit counts every byte of the head and none of the body")
    func limit() {
        let head = "GET / HTTP/1.1\r\n\r\n"
        #expect(scan([head + "body"], limit: head.utf8.count) == [.complete(count: head.utf8.count)])
        #expect(scan([head], limit: head.utf8.count - 1) == [.tooLarge])
        #expect(scan(["GET /", "x", "x"], limit: 6) == [.incomplete, .incomplete, .tooLarge])
    }

    @Test("a deadline moved later costs no timer; the timer that fires early is set again")
    func lazyDeadline() {
        var deadline = LazyDeadline()
        func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }
        #expect(deadline.set(after: .seconds(10), now: at(0)) == .seconds(10))
        #expect(deadline.set(after: .seconds(10), now: at(5)) == nil)
        #expect(deadline.fire(now: at(10)) == .again(after: .seconds(5)))
        #expect(deadline.fire(now: at(15)) == .expired)
        #expect(deadline.deadline == nil)
        #expect(deadline.set(after: .seconds(75), now: at(20)) == .seconds(75))
        #expect(deadline.set(after: .seconds(1), now: at(21)) == .seconds(1))
        deadline.clear()
        #expect(deadline.fire(now: at(22)) == .ignore)
        #expect(deadline.set(after: .seconds(1), now: at(23)) == .seconds(1))
    }

    @Test("an answer has its length and date; what the server owns is left out; line breaks are blanks")
    func writer() {
        var writer = ResponseWriter()
        let response = HTTPResponse(
            status: 404,
            headers: [("connection", "x"), ("Date", "x"), ("Content-Length", "7"), ("A", "b\r\nSet-Cookie: c")],
            body: Array("no".utf8),
        )
        let head =
            "HTTP/1.1 404 Not Found\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nA: b  Set-Cookie: c\r\nContent-Length: 2"
        writer.write(response, omitsBody: false, closes: false, second: 784_111_777)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == head + "\r\n\r\nno")
        writer.write(response, omitsBody: true, closes: true, second: 784_111_777)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == head + "\r\nConnection: close\r\n\r\n")
        writer.write(HTTPResponse(status: 204, body: [1]), omitsBody: false, closes: false, second: 784_111_778)
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == "HTTP/1.1 204 No Content\r\nDate: Sun, 06 Nov 1994 08:49:38 GMT\r\n\r\n"
        )
    }
}
