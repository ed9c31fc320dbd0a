import CLibevent
import EventLoop
import Glibc

/// One client's connection: reads one request at a time, hands it to the server, writes its answer.
///
/// libevent's callbacks hold it unretained; they cannot come after ``close()``, which frees the bufferevent. A callback,
/// and the handler it leads to, may close the connection: libevent keeps a bufferevent until its callback has returned,
/// and the callbacks here keep the object.
final class HTTPConnection {
    private enum Phase: Equatable {
        /// No byte of a request is there.
        case idle
        /// Some bytes of a head are there.
        case head
        /// The head is there, the body is not.
        case body
        /// The handler has the request.
        case answering(HTTPExchange)
        /// The answer waits for the client to read.
        case flushing(closes: Bool)
        /// Everything is said; what the client still sends is thrown away.
        case lingering
        case closed
    }

    private unowned let server: HTTPServer
    private let descriptor: Int32
    private let remoteAddress: String
    private let stream: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let parser: RequestParser
    private var scanner: HeadScanner
    private var head: RequestHead?
    private var phase = Phase.idle
    private var deadline = LazyDeadline()
    private var timer: EventLoopTimer?
    private var peerHasFinished = false
    private var isAdvancing = false
    private var hasServed = false

    /// Memory that a client can fill while its earlier request is being answered.
    private static let readAhead = 16 * 1024

    /// Nil where there is no memory; the descriptor is then still the caller's.
    init?(server: HTTPServer, descriptor: Int32, remoteAddress: String) {
        guard
            let stream = bufferevent_socket_new(
                server.loop.base,
                descriptor,
                Int32(BEV_OPT_CLOSE_ON_FREE.rawValue),
            ),
            let input = bufferevent_get_input(stream),
            let output = bufferevent_get_output(stream)
        else { return nil }
        self.server = server
        self.descriptor = descriptor
        self.remoteAddress = remoteAddress
        self.stream = stream
        self.input = input
        self.output = output
        self.parser = RequestParser(maximumBodyBytes: server.configuration.maximumBodyBytes)
        self.scanner = HeadScanner(limit: server.configuration.maximumHeadBytes)
        self.timer = EventLoopTimer(on: server.loop) { [weak self] in self?.timerFired() }
        bufferevent_setwatermark(stream, Int16(EV_READ), 0, HTTPConnection.readAhead)
        bufferevent_setcb(
            stream,
            { _, context in HTTPConnection.with(context) { $0.advance() } },
            { _, context in HTTPConnection.with(context) { $0.outputDrained() } },
            { _, events, context in
                HTTPConnection.with(context) { $0.ended(isError: Int32(events) & Int32(BEV_EVENT_EOF) == 0) }
            },
            Unmanaged.passUnretained(self).toOpaque(),
        )
        bufferevent_enable(stream, Int16(EV_READ | EV_WRITE))
        setDeadline(server.configuration.headDeadline)
    }

    deinit {
        if phase != .closed {
            bufferevent_free(stream)
        }
    }

    private static func with(_ context: UnsafeMutableRawPointer?, _ body: (HTTPConnection) -> Void) {
        guard let context else { return }
        let connection = Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue()
        // The handler may drop the server, and the server its connections.
        withExtendedLifetime((connection, connection.server)) { body(connection) }
    }

    // MARK: - From the server

    /// Sends the answer, unless the client has gone.
    func respond(_ response: HTTPResponse, to exchange: HTTPExchange) {
        guard phase == .answering(exchange) else { return }
        hasServed = true
        // Bytes that came before the client's end are requests that it still wants answered.
        let mayAskAgain = head?.keepsAlive == true && (!peerHasFinished || inputLength > 0)
        send(response, closes: !mayAskAgain || server.announcesClose)
        advance()
    }

    /// Closes the connection if no request is under way.
    ///
    /// A request may lie unread in the kernel, where closing would answer it with a reset; that connection stays. So does
    /// one that has not yet sent its first request, for a moment: it was just accepted.
    func closeIfIdle() {
        guard phase == .idle, inputLength == 0 else { return }
        guard !SocketCall.hasUnreadBytes(descriptor) else { return }
        if hasServed {
            close()
        } else {
            setDeadline(min(server.configuration.headDeadline, .seconds(1)))
        }
    }

    /// Ends the connection now, whatever it is doing.
    func close() {
        guard phase != .closed else { return }
        if case .answering(let exchange) = phase {
            server.forget(exchange)
        }
        phase = .closed
        timer = nil
        bufferevent_free(stream)
        server.forget(self)
    }

    // MARK: - From libevent

    private func outputDrained() {
        guard case .flushing(let closes) = phase else { return }
        answerSent(closes: closes)
        advance()
    }

    private func ended(isError: Bool) {
        guard !isError else { return close() }
        peerHasFinished = true
        if phase == .lingering {
            close()
        } else {
            advance()
        }
    }

    private func timerFired() {
        // The action may close the connection, which drops the timer that holds it.
        withExtendedLifetime((self, server)) {
            switch deadline.fire(now: .now) {
            case .ignore: break
            case .again(let delay): timer?.schedule(after: delay)
            case .expired: expired()
            }
        }
    }

    private func expired() {
        switch phase {
        case .head, .body: refuse(.requestTimeout)
        case .flushing:
            SocketCall.discardUnsentBytesOnClose(descriptor)
            close()
        case .idle, .lingering: close()
        case .answering, .closed: break
        }
    }

    private func setDeadline(_ delay: Duration) {
        if let delay = deadline.set(after: delay, now: .now) {
            timer?.schedule(after: delay)
        }
    }

    // MARK: - Reading

    /// Goes on as far as the bytes that are there allow.
    ///
    /// A handler may answer at once, from inside this loop, which then goes on by itself.
    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        while step() {}
    }

    /// - Returns: whether there may be more to do.
    private func step() -> Bool {
        switch phase {
        case .idle: return beginRequest()
        case .head: return readHead()
        case .body: return readBody()
        case .lingering:
            evbuffer_drain(input, inputLength)
            return false
        case .answering, .flushing, .closed: return false
        }
    }

    private func beginRequest() -> Bool {
        // A client may send empty lines before a request line (RFC 9112, section 2.2).
        while true {
            let bytes = firstBytes
            guard !bytes.isEmpty else {
                if peerHasFinished {
                    close()
                }
                return false
            }
            let blank = bytes.prefix { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.count
            let isAllBlank = blank == bytes.count
            evbuffer_drain(input, blank)
            if !isAllBlank { break }
        }
        deadline.clear()
        scanner = HeadScanner(limit: server.configuration.maximumHeadBytes)
        parser.begin()
        phase = .head
        return true
    }

    private func readHead() -> Bool {
        let bytes = firstBytes
        guard !bytes.isEmpty else { return awaitMore(server.configuration.headDeadline) }
        let result = scanner.scan(bytes)
        let count: Int
        switch result {
        case .incomplete: count = bytes.count
        case .complete(let end): count = end
        case .folded:
            refuse(.malformedRequest)
            return true
        case .tooLarge:
            refuse(.headTooLarge)
            return true
        }
        do throws(HTTPFault) {
            _ = try parser.feed(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            evbuffer_drain(input, count)
            guard case .complete = result else { return true }
            // Both have seen the same empty line, or one of them is wrong about where the body starts.
            guard parser.headIsComplete else { throw HTTPFault.malformedRequest }
            try headCompleted()
        } catch {
            refuse(error)
        }
        return true
    }

    private func headCompleted() throws(HTTPFault) {
        let head = try parser.head()
        self.head = head
        guard !parser.requestIsComplete else { return deliver(head) }
        deadline.clear()
        phase = .body
        if head.expectsContinue, inputLength == 0 {
            send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
        }
    }

    private func readBody() -> Bool {
        let bytes = firstBytes
        guard !bytes.isEmpty else { return awaitMore(server.configuration.bodyDeadline) }
        do {
            evbuffer_drain(input, try parser.feed(bytes))
            if parser.requestIsComplete, let head {
                deliver(head)
            }
        } catch {
            refuse(error)
        }
        return true
    }

    /// Starts the deadline of a head or body where it does not run yet.
    private func awaitMore(_ delay: Duration) -> Bool {
        if peerHasFinished {
            refuse(.malformedRequest)
            return true
        }
        if deadline.deadline == nil {
            setDeadline(delay)
        }
        return false
    }

    private func deliver(_ head: RequestHead) {
        deadline.clear()
        let request = HTTPRequest(
            method: head.method,
            path: head.path,
            query: head.query,
            headers: head.headers,
            body: parser.takeBody(),
            remoteAddress: remoteAddress,
        )
        let exchange = HTTPExchange.next()
        phase = .answering(exchange)
        server.deliver(request, exchange, from: self)
    }

    private var inputLength: Int { evbuffer_get_length(input) }

    /// The bytes at the front of the input that lie in one piece; valid until the input is touched.
    private var firstBytes: UnsafeRawBufferPointer {
        var piece = iovec()
        guard evbuffer_peek(input, -1, nil, &piece, 1) > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: piece.iov_base, count: piece.iov_len)
    }

    // MARK: - Writing

    /// Answers for the server itself, and closes.
    private func refuse(_ fault: HTTPFault) {
        server.logger.debug(
            "refused a request",
            ["reason": .string(fault.rawValue), "status": .count(fault.status), "client": .string(remoteAddress)],
        )
        send(server.answer(to: fault, path: head?.path ?? parser.targetSoFar), closes: true)
    }

    private func send(_ response: HTTPResponse, closes: Bool) {
        // What broke before a head was complete was not known to be HEAD.
        let omitsBody = parser.headIsComplete && parser.isHeadRequest
        head = nil
        phase = .flushing(closes: closes)
        send(server.serialize(response, omitsBody: omitsBody, closes: closes))
        guard phase != .closed else { return }
        if evbuffer_get_length(output) == 0 {
            answerSent(closes: closes)
        } else {
            setDeadline(server.configuration.answerDeadline)
        }
    }

    /// Writes to the socket at once, which spares two system calls and a turn of the loop; what the kernel does not take
    /// waits in the bufferevent.
    private func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var sent = 0
            if evbuffer_get_length(output) == 0 {
                guard let count = SocketCall.send(bytes, to: descriptor) else { return close() }
                sent = count
            }
            let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
            if !rest.isEmpty {
                bufferevent_write(stream, rest.baseAddress, rest.count)
            }
        }
    }

    private func answerSent(closes: Bool) {
        if !closes {
            phase = .idle
            setDeadline(server.configuration.idleDeadline)
        } else if peerHasFinished {
            close()
        } else {
            phase = .lingering
            SocketCall.finishWriting(descriptor)
            evbuffer_drain(input, inputLength)
            setDeadline(server.configuration.lingerDeadline)
        }
    }
}
