import Glibc
import Synchronization

/// Writes one JSON object a line, to standard error unless told otherwise.
///
/// The message is a `StaticString`, so that what users sent cannot become part of it; values go into named fields.
/// Secrets, tokens and message content never go into a field: log a fingerprint.
public struct Logger: Sendable {
    /// How much a line matters. `error` wants a person now, `warning` wants one today, `info` is the story of the
    /// process, `debug` is off by default.
    public enum Level: String, Sendable, Comparable, CaseIterable {
        case debug
        case info
        case warning
        case error

        /// Whether `left` matters less.
        public static func < (left: Level, right: Level) -> Bool {
            left.rank < right.rank
        }

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }
    }

    /// Lines below this level are not written.
    public let minimumLevel: Level

    private let write: @Sendable (String) -> Void
    /// Of all copies of this logger.
    private let faults = FaultBook()

    /// - Parameters:
    ///   - minimumLevel: lines below it are dropped.
    ///   - write: takes each line, its newline included; the default writes to standard error in one call, so that
    ///     lines of several threads do not mix.
    public init(minimumLevel: Level = .info, write: @escaping @Sendable (String) -> Void = Logger.writeToStandardError)
    {
        self.minimumLevel = minimumLevel
        self.write = write
    }

    /// Writes `line` to file descriptor 2. A closed or full standard error is no reason to stop a gateway.
    public static func writeToStandardError(_ line: String) {
        var line = line
        line.withUTF8 { bytes in
            _ = Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }

    /// Writes one line at `level`.
    public func log(_ level: Level, _ message: StaticString, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        log(level, message, fields, repeats: 0)
    }

    /// A line about what fails again and again for as long as something is away: the first time at once, then after ten
    /// seconds and ever more seldom, at least every ten minutes, with how often it failed meanwhile in `repeats`. All
    /// copies of a logger count together.
    ///
    /// - Parameter message: names the fault.
    public func lasting(_ level: Level, _ message: StaticString, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        guard let repeats = faults.book.withLock({ $0.came(message.description, at: now) }) else { return }
        log(level, message, fields, repeats: repeats)
    }

    /// What ``lasting(_:_:_:)`` told of works again: a line at level `info`, if it had failed at all.
    ///
    /// - Parameters:
    ///   - fault: the message of that fault.
    ///   - message: says that it is over.
    public func over(_ fault: StaticString, _ message: StaticString) {
        guard let failures = faults.book.withLock({ $0.isOver(fault.description) }) else { return }
        log(.info, message, ["failures": .count(failures)])
    }

    private func log(
        _ level: Level,
        _ message: StaticString,
        _ fields: KeyValuePairs<String, LogValue>,
        repeats: Int,
    ) {
        guard level >= minimumLevel else { return }
        var line = "{\"time\":\""
        line += LogTime.now
        line += "\",\"level\":\""
        line += level.rawValue
        line += "\",\"message\":"
        LogValue.string(message.description).append(to: &line)
        for (name, value) in fields {
            line += ","
            LogValue.string(name).append(to: &line)
            line += ":"
            value.append(to: &line)
        }
        if repeats > 0 {
            line += ",\"repeats\":\(repeats)"
        }
        line += "}\n"
        write(line)
    }

    /// A line at level `debug`.
    public func debug(_ message: StaticString, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        log(.debug, message, fields)
    }

    /// A line at level `info`.
    public func info(_ message: StaticString, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        log(.info, message, fields)
    }

    /// A line at level `warning`.
    public func warning(_ message: StaticString, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        log(.warning, message, fields)
    }

    /// A line at level `error`.
    public func error(_ message: StaticString, _ fields: KeyValuePairs<String, LogValue> = [:]) {
        log(.error, message, fields)
    }
}

/// What the copies of a logger share.
private final class FaultBook: Sendable {
    let book = Mutex(LastingFaults())
}
