import EventLoop
import Glibc

/// Posts the messages of a plan over some keep-alive connections, each as soon as it may go.
final class BenchDriver {
    /// No activity gets two pushes within this: the system would drop them, and the gateway may merge them.
    private static let shortestInterval = Duration.seconds(1)

    private let plan: BenchPlan
    private let accounts: [UInt32]
    private let messages: [BenchPlan.Message]
    private let requestHead: [UInt8]
    private let pushes: SharedCounters
    private let answers: SharedCounters
    private let inFlight: Int
    private let underWay: Int64
    private let pushesBefore: Int64
    private var posted: Int64 = 0
    private var connections: [DriverConnection] = []
    /// The connection that is looked at first for the next message: none goes without any for long.
    private var turn = 0
    private var next = 0
    private var start = MonotonicTime.now
    private var answered = 0
    /// When each account's last message was posted, in nanoseconds.
    private var postedAt: [Int64]
    private var request: [UInt8] = []

    /// - Parameters:
    ///   - underWay: most recipients that were posted and whose push has not come to the sink. Without a limit a queue
    ///     would grow in the gateway, and be measured.
    ///   - pushes: the sink's file.
    ///   - answers: the driver's own file: for each message when it was posted and when its answer was there.
    init(
        _ plan: BenchPlan,
        isWarmUp: Bool,
        port: UInt16,
        userSig: String,
        connections: Int,
        inFlight: Int,
        underWay: Int,
        pushes: SharedCounters,
        answers: SharedCounters,
    ) throws(CommandFailure) {
        self.plan = plan
        self.accounts = plan.shuffledAccounts()
        self.messages = plan.messages(isWarmUp: isWarmUp)
        self.pushes = pushes
        self.answers = answers
        self.inFlight = inFlight
        self.underWay = Int64(underWay)
        self.pushesBefore = pushes.counter(BenchCounter.pushes)
        self.postedAt = [Int64](repeating: 0, count: plan.registrations)
        let command = plan.batch == 1 ? "sendmsg" : "batchsendmsg"
        let query = "sdkappid=\(BenchPlan.sdkAppID)&identifier=\(BenchPlan.administrator)&usersig=\(userSig)"
        requestHead = Array(
            """
            POST /v4/openim/\(command)?\(query)&random=99999999&contenttype=json HTTP/1.1\r
            Host: 127.0.0.1:\(port)\r
            Content-Type: application/json\r
            Content-Length:\u{20}
            """.utf8
        )
        for _ in 0..<connections {
            self.connections.append(DriverConnection(try LoopbackSocket.connect(port: port)))
        }
    }

    /// Posts everything and returns when all is answered.
    func run() throws(CommandFailure) {
        start = .now
        var polled = connections.map { pollfd(fd: $0.descriptor, events: 0, revents: 0) }
        while answered < messages.count {
            let mayPost = post()
            for (index, connection) in connections.enumerated() {
                try connection.write()
                polled[index].events = Int16(POLLIN) | (connection.hasOutput ? Int16(POLLOUT) : 0)
            }
            // What has to wait for its turn is looked at again after a millisecond.
            guard poll(&polled, nfds_t(polled.count), mayPost ? 1000 : 1) >= 0 || errno == EINTR else {
                throw CommandFailure("poll: \(String(cString: strerror(errno)))")
            }
            let now = MonotonicTime.now.nanoseconds
            for (index, connection) in connections.enumerated() where polled[index].revents != 0 {
                try connection.read { message, answer in take(answer, to: message, at: now) }
            }
        }
    }

    /// - Returns: false if a message waits for its accounts' turn.
    private func post() -> Bool {
        // In turn: the gateway closes a connection on which no request comes.
        for index in Array(connections.indices[turn...]) + connections.indices[..<turn] {
            let connection = connections[index]
            while connection.messages.count < inFlight, next < messages.count {
                let message = messages[next]
                let now = MonotonicTime.now
                // What has to wait for a free connection counts from when it was due.
                let due = plan.rate.map { start + .seconds(1) * next / $0 }
                guard due ?? now <= now, isDue(message, at: now) else { return false }
                posted += Int64(message.recipients.count)
                for place in message.recipients {
                    postedAt[Int(accounts[place])] = now.nanoseconds
                }
                write(message)
                answers[2 * message.number] = (due ?? now).nanoseconds
                connection.post(request, message.number)
                next += 1
                turn = (index + 1) % connections.count
            }
        }
        return true
    }

    /// Whether there is room, and each recipient's last push was answered, and posted a second ago.
    private func isDue(_ message: BenchPlan.Message, at now: MonotonicTime) -> Bool {
        guard posted - (pushes.counter(BenchCounter.pushes) - pushesBefore) < underWay else { return false }
        guard message.round > 1 else { return true }
        for place in message.recipients {
            let account = Int(accounts[place])
            let last = MonotonicTime(nanoseconds: postedAt[account])
            guard now - last >= BenchDriver.shortestInterval,
                let slot = plan.slot(round: message.round - 1, account: account), pushes[slot] != 0
            else { return false }
        }
        return true
    }

    private func write(_ message: BenchPlan.Message) {
        var body = Array(#"{"From_Account":"shop","To_Account":"#.utf8)
        if plan.batch > 1 { body.append(UInt8(ascii: "[")) }
        for (index, place) in message.recipients.enumerated() {
            body.append(contentsOf: (index == 0 ? #"""# : #",""#).utf8)
            BenchPlan.appendAccount(accounts[place], to: &body)
            body.append(UInt8(ascii: #"""#))
        }
        if plan.batch > 1 { body.append(UInt8(ascii: "]")) }
        body.append(contentsOf: #","MsgRandom":"#.utf8)
        body.append(contentsOf: String(message.number).utf8)
        body.append(contentsOf: BenchDriver.beforeState)
        BenchPlan.appendState(of: message, to: &body)
        body.append(contentsOf: "}}}}".utf8)
        request.removeAll(keepingCapacity: true)
        request.append(contentsOf: requestHead)
        request.append(contentsOf: String(body.count).utf8)
        request.append(contentsOf: "\r\n\r\n".utf8)
        request.append(contentsOf: body)
    }

    private static let beforeState = Array(
        (#","MsgBody":[{"MsgType":"TIMTextElem","MsgContent":{"Text":"The courier is on the way"}}],"#
            + #""OfflinePushInfo":{"PushFlag":0,"Title":"Your order","Desc":"The courier is on the way","#
            + #""ApnsInfo":{"LiveActivity":{"LaId":"\#(BenchPlan.laID)","Event":"update","ContentState":"#).utf8
    )
    private static let ok = Array(#""ActionStatus":"OK""#.utf8)

    private func take(_ answer: UnsafeRawBufferPointer, to message: Int, at now: Int64) {
        answered += 1
        answers[2 * message + 1] = now
        if ByteSearch.first(BenchDriver.ok, in: answer) != nil {
            answers.addToCounter(BenchCounter.acceptedRecipients, Int64(messages[message].recipients.count))
        } else {
            if answers.counter(BenchCounter.refusedMessages) == 0 {
                StandardOutput.write(error: "refused: \(String(decoding: answer.prefix(500), as: UTF8.self))\n")
            }
            answers.addToCounter(BenchCounter.refusedMessages)
        }
    }
}
