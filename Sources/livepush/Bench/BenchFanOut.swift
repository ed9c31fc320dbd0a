import EventLoop
import Glibc

/// One update to many phones, posted while single messages go on.
struct BenchFanOut: Sendable {
    /// When it was posted, and when its last push was answered, in nanoseconds.
    let start: Int64
    var end: Int64
    /// The most that had been resident in the gateway before, in bytes.
    let peakBytes: Int64

    var seconds: Double? {
        end > start ? Double(end - start) / 1_000_000_000 : nil
    }
}

extension Bench {
    /// Adds the application code and the token by which the fan-out is posted.
    func setUpFanOut(_ app: String, _ environment: [String: String]) async throws {
        let tokenFile = folder.path + "/api-token"
        try write(Array(BenchPlan.apiToken.utf8), to: tokenFile)
        let commands = [
            try livepush("app", "code", "add", app, "--code=\(BenchPlan.applicationCode)", "--business-id=1"),
            try livepush("app", "token", "add", app, "--name=bench", "--scope=server", "--token-file=\(tokenFile)"),
        ]
        for command in commands {
            try await processes.run(command, environment: environment, output: folder.path + "/setup.log")
        }
    }

    /// Posts the fan-out once its part of the messages is answered.
    ///
    /// - Returns: nil if the plan has none.
    func postFanOut(_ gateway: pid_t, _ port: UInt16, _ answers: SharedCounters) async throws -> BenchFanOut? {
        guard plan.fanOut > 0 else { return nil }
        try await processes.wait(for: "the messages before the fan-out", atMost: .seconds(86_400)) {
            try Task.checkCancellation()
            let refused = answers.counter(BenchCounter.refusedMessages) * Int64(plan.batch)
            return answers.counter(BenchCounter.acceptedRecipients) + refused >= Int64(plan.recipientsBeforeFanOut)
        }
        let peakBytes = ProcessUsage.peakMemory(of: gateway) ?? 0
        progress("posting an update to \(plan.fanOut) phones")
        let start = MonotonicTime.now.nanoseconds
        let url = "http://127.0.0.1:\(port)"
        let path = "/json/1.3/updateLiveActivity"
        let answer = try await PlainHTTPClient.post(url, path: path, body: BenchPlan.fanOutRequest)
        let text = String(decoding: answer.body, as: UTF8.self)
        guard text.contains(#""status_code":200"#) else { throw CommandFailure("the fan-out was refused: \(text)") }
        return BenchFanOut(start: start, end: start, peakBytes: peakBytes)
    }
}
