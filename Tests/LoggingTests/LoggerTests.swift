import Logging
import Synchronization
import Testing

@Suite("Logger")
struct LoggerTests {
    @Test("a line is one JSON object with escaped values")
    func lineIsJSON() {
        let lines = Mutex<[String]>([])
        let logger = Logger { line in lines.withLock { $0.append(line) } }
        logger.info("started", ["text": "a \"quoted\"\nline\u{1}", "port": 8080, "tls": true])
        let line = lines.withLock { $0.first ?? "" }
        #expect(line.hasPrefix("{\"time\":\"2"))
        #expect(
            line.hasSuffix(
                #""level":"info","message":"started","text":"a \"quoted\"\nline\u0001","port":8080,"tls":true}"# + "\n"
            )
        )
    }

    @Test("a line below the minimum level is not written")
    func belowMinimumLevel() {
        let lines = Mutex<[String]>([])
        let logger = Logger(minimumLevel: .warning) { line in lines.withLock { $0.append(line) } }
        logger.info("quiet")
        logger.error("loud")
        #expect(lines.withLock { $0.count } == 1)
    }
}
