import CNghttp2
import EventLoop
import Logging

/// One connection to APNs, which serves one signing key in one environment.
///
/// It knows how many streams it may open and whether the peer is alive; what an answer means is the pool's business.
final class APNsConnection: TLSStream.Owner {
    /// Each can become any later one.
    enum Phase: String {
        /// Until the TLS handshake is done.
        case connecting
        /// Takes requests.
        case open
        /// Takes no more; ends when the open streams have.
        case draining
        case ended

        /// Those in which it is a connection.
        static let shown: [Phase] = [.connecting, .open, .draining]
    }

    /// What hears of a connection.
    protocol Owner: AnyObject {
        /// Requests can be submitted, or more of them than before.
        func connectionIsReady(_ connection: APNsConnection)
        /// The peer takes no more streams on it.
        func connection(_ connection: APNsConnection, goesAway code: UInt32, reason: String?)
        /// A stream ended, with or without an answer.
        func connection(_ connection: APNsConnection, ended push: PendingPush, code: UInt32)
        /// The connection is no more. The orphans were on its streams.
        func connectionEnded(_ connection: APNsConnection, orphans: [PendingPush], _ failure: APNsFailure)
    }

    /// Beyond this the bytes stay with nghttp2, where a reset can still stop them.
    private static let outputLimit = 65_536

    weak var owner: (any Owner)?
    private(set) var phase = Phase.connecting
    /// When it began to connect.
    let startedAt = MonotonicTime.now
    private(set) var limit: StreamLimit

    private let endpoint: APNsEndpoint
    private let authority: [UInt8]
    private let configuration: APNsConfiguration
    private let logger: Logger
    private let loop: EventLoop
    private let stream: TLSStream
    private let deadline: MonotonicTime
    private var session: HTTP2Session?
    private var pings: PingSchedule
    private var timer: EventLoopTimer?
    private var output: [UInt8] = []
    private var hasOutput = false
    private var eventDepth = 0
    private var lastAnswered: MonotonicTime?
    private var drainReason = "HTTP/2 ended"

    init(
        on loop: EventLoop,
        to endpoint: APNsEndpoint,
        tls: TLSContext,
        configuration: APNsConfiguration,
        logger: Logger,
    ) {
        let now = MonotonicTime.now
        self.loop = loop
        self.endpoint = endpoint
        self.authority = Array(endpoint.authority.utf8)
        self.configuration = configuration
        self.logger = logger
        self.limit = StreamLimit(ceiling: configuration.maximumStreamsPerConnection)
        self.deadline = now + configuration.connectTimeout
        self.stream = TLSStream(on: loop, to: endpoint, tls: tls, deadline: deadline)
        self.pings = PingSchedule(
            interval: configuration.pingInterval,
            timeout: configuration.pingTimeout,
            openedAt: now,
        )
        stream.owner = self
        self.timer = EventLoopTimer(on: loop) { [weak self] in self?.timerFired() }
    }

    func connect() {
        stream.connect()
    }

    // MARK: - Requests

    /// Whether a request that got no answer put the connection in doubt; it takes none until something comes.
    var isSuspect: Bool { pings.isSuspect }

    var streamsInUse: Int { session?.pushes.count ?? 0 }

    /// How many more requests it takes now.
    var freeStreams: Int {
        guard phase == .open, !pings.isSuspect else { return 0 }
        return limit.value - streamsInUse
    }

    /// Whatever is on a stream.
    var pushes: some Collection<PendingPush> { session?.pushes.values ?? [:].values }

    /// Sends a push. It goes out with ``flush()``.
    ///
    /// - Returns: false when it cannot: the connection takes no more.
    func submit(_ push: PendingPush, token: ProviderTokenCache.Token, at now: MonotonicTime) -> Bool {
        guard phase == .open, let session else { return false }
        push.prepare(submittedAt: now, token: token)
        guard session.submit(push, authority: authority, authorization: token.authorization) else {
            beginDraining("no stream ids left")
            return false
        }
        hasOutput = true
        return true
    }

    /// Resets the stream of a push that was given up. If no other was answered since it was sent, the connection takes no
    /// more: a peer can go on to answer PINGs and answer requests no longer.
    func cancel(_ push: PendingPush) {
        session?.cancel(push)
        hasOutput = true
        if pings.requestTimedOut(submittedAt: push.submittedAt) {
            checkPing()
        }
        if (lastAnswered ?? startedAt) <= push.submittedAt {
            drain(because: "requests got no answer in time")
        }
    }

    /// Hands to the kernel what was submitted since.
    func flush() {
        guard hasOutput else { return }
        pump()
    }

    /// Takes no more requests; ends at once if none is under way.
    func drain(because reason: String) {
        switch phase {
        case .connecting:
            end(APNsFailure(.connectFailed, detail: "\(endpoint): \(reason)"))
        case .open:
            beginDraining(reason)
            endIfDrained()
        case .draining, .ended:
            break
        }
    }

    /// Ends it whatever is under way.
    func close() {
        end(APNsFailure(.closed))
    }

    /// To be told that a request was answered, in whatever way.
    func requestWasAnswered(at now: MonotonicTime) {
        lastAnswered = now
    }

    /// To be told that a request was answered on its merits: the peer knows the provider token now.
    func keyWasProven() {
        limit.requestAnswered()
    }

    // MARK: - Stream

    func streamOpened(to address: SocketAddress) {
        guard let session = HTTP2Session() else {
            end(APNsFailure(.connectFailed, detail: "nghttp2 gives no session"))
            return
        }
        self.session = session
        phase = .open
        logger.debug("connected to APNs", ["endpoint": .describing(endpoint), "address": .describing(address)])
        timer?.schedule(after: deadline - .now)
        hasOutput = true
        owner?.connectionIsReady(self)
        flush()
    }

    func streamReceived(_ stream: TLSStream) {
        guard let session else { return }
        pings.received(at: .now)
        var violation: String?
        stream.read { bytes in
            violation = session.receive(bytes)
            return violation == nil
        }
        handleEvents(of: session)
        if let violation {
            let reason = phase == .draining ? drainReason : "HTTP/2: \(violation)"
            end(APNsFailure(.connectionLost, detail: "\(endpoint): \(reason)"))
            return
        }
        if phase != .ended {
            // nghttp2 owes the peer acknowledgements and window updates.
            hasOutput = true
            owner?.connectionIsReady(self)
            flush()
        }
        endIfDrained()
    }

    func streamDrained() {
        pump()
    }

    func streamEnded(_ failure: APNsFailure) {
        end(failure)
    }

    /// - Returns: whether anything happened.
    @discardableResult
    private func handleEvents(of session: HTTP2Session) -> Bool {
        let events = session.takeEvents()
        guard !events.isEmpty else { return false }
        // An end in between would let the pool look for work before it has seen all of it.
        eventDepth += 1
        defer { eventDepth -= 1 }
        for event in events {
            switch event {
            case .settings(let maximumStreams):
                let isFirst = !limit.hasSettings
                limit.settingsReceived(maximumStreams: maximumStreams, lastStream: session.lastStream)
                if isFirst {
                    timer?.schedule(after: configuration.pingInterval)
                }
            case .goAway(let code, let debugData):
                let reason = APNsResponse.reason(inDebugData: debugData)
                beginDraining("GOAWAY \(HTTP2Session.name(of: code)) \(reason ?? "")")
                owner?.connection(self, goesAway: code, reason: reason)
            case .ended(let push, let code):
                owner?.connection(self, ended: push, code: code)
            }
        }
        return true
    }

    private func pump() {
        guard let session, phase != .ended else { return }
        hasOutput = false
        let room = APNsConnection.outputLimit - stream.outputCount
        output.removeAll(keepingCapacity: true)
        while output.count < room, let bytes = session.nextOutput() {
            output.append(contentsOf: bytes)
        }
        stream.write(output)
        // Frames that nghttp2 could not send end their streams, as after a GOAWAY.
        if handleEvents(of: session) {
            owner?.connectionIsReady(self)
        }
        if session.isOver {
            end(APNsFailure(.connectionLost, detail: "\(endpoint): \(drainReason)"))
        }
        endIfDrained()
    }

    // MARK: - Time

    private func timerFired() {
        if limit.hasSettings {
            checkPing()
        } else {
            end(APNsFailure(.connectFailed, detail: "\(endpoint): no HTTP/2 SETTINGS in time"))
        }
    }

    private func checkPing() {
        guard phase != .ended else { return }
        let now = MonotonicTime.now
        switch pings.step(at: now) {
        case .wait(let time):
            timer?.schedule(after: time - now)
        case .ping(let time):
            session?.ping()
            timer?.schedule(after: time - now)
            pump()
        case .dead:
            end(APNsFailure(.connectionLost, detail: "\(endpoint): no answer to a PING"))
        }
    }

    // MARK: - Ending

    private func beginDraining(_ reason: String) {
        guard phase == .open else { return }
        phase = .draining
        drainReason = reason
    }

    private func endIfDrained() {
        guard phase == .draining, streamsInUse == 0, eventDepth == 0 else { return }
        end(APNsFailure(.connectionLost, detail: "\(endpoint): \(drainReason)"))
    }

    private func end(_ failure: APNsFailure) {
        guard phase != .ended else { return }
        phase = .ended
        timer = nil
        stream.close()
        let orphans = session?.pushes.sorted { $0.key < $1.key }.map(\.value) ?? []
        session = nil
        owner?.connectionEnded(self, orphans: orphans, failure)
    }
}
