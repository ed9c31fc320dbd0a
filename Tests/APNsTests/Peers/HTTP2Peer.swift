import EventLoop
import Glibc
import Synchronization
import TestSupport
import VerbatimJSON

/// The Python peer as a child process with its own test certificate. It ends when ``stop()`` is called, or with the
/// tests.
final class HTTP2Peer: Sendable {
    let port: Int
    let certificates: TestCertificates

    private let peer: Mutex<Peer>

    /// - Parameters:
    ///   - options: a JSON object, see the script.
    ///   - hosts: for whom the certificate is.
    init(_ options: String = "{}", hosts: String = "DNS:localhost,IP:127.0.0.1") async throws {
        certificates = try await runBlockingWork { Result { try TestCertificates(hosts: hosts) } }.get()
        let script = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/http2_peer.py"
        let program = try RunningProgram(
            "/usr/bin/python3",
            [script, certificates.certificateFile, certificates.keyFile]
        )
        try program.write(options + "\n")
        var starting = Peer(program)
        while try starting.lines("ready").isEmpty {
            guard program.status == nil else {
                throw PeerFailure(reason: "the peer did not start: \(program.errors)")
            }
            try await Task.sleep(for: HTTP2Peer.pollInterval)
        }
        guard let port = try starting.lines("port").first?["port"]?.integer.flatMap(Int.init(exactly:)) else {
            throw PeerFailure(reason: "the peer did not tell its port")
        }
        self.port = port
        self.peer = Mutex(starting)
    }

    /// The program has to be asked for its output, again and again: waiting for it in a read would block one of the few
    /// threads that all tests share.
    private static let pollInterval = Duration.milliseconds(5)

    /// Ends the process. What it wrote can still be read.
    func stop() {
        peer.withLock { _ = $0.program.end(SIGKILL) }
    }

    /// Changes options for what comes later.
    func set(_ options: String) async throws {
        let count = try peer.withLock { peer in
            let count = try peer.lines("ready").count
            try peer.program.write(options + "\n")
            return count
        }
        _ = try await wait(for: "ready", count: count + 1)
    }

    /// The lines with that member that the peer has written until now.
    func lines(_ name: String) async throws -> [JSONValue] {
        // Its answer comes behind all of them.
        try await set("{}")
        return try peer.withLock { try $0.lines(name) }
    }

    /// Waits until there are so many lines with that member.
    func wait(for name: String, count: Int = 1) async throws -> [JSONValue] {
        while true {
            let (found, isRunning) = try peer.withLock { peer in
                let isRunning = peer.program.status == nil
                return (try peer.lines(name), isRunning)
            }
            if found.count >= count { return found }
            guard isRunning else { throw PeerFailure(reason: "the peer ended before it said \(name) \(count) times") }
            try await Task.sleep(for: HTTP2Peer.pollInterval)
        }
    }

    /// The distinct values of a request header.
    func values(of header: String) async throws -> Set<String> {
        Set(try await lines("request").compactMap { $0["request"]?[header]?.string })
    }

    /// The running program, and what has been read of its output.
    private struct Peer {
        let program: RunningProgram

        private var lines: [JSONValue] = []
        private var bytesRead = 0
        private var unfinishedLine: [UInt8] = []

        init(_ program: RunningProgram) {
            self.program = program
        }

        /// The lines with that member so far.
        mutating func lines(_ name: String) throws -> [JSONValue] {
            let new = program.output(after: bytesRead)
            bytesRead += new.count
            unfinishedLine += new
            while let end = unfinishedLine.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(try JSONDocument(parsing: Array(unfinishedLine[..<end])).root)
                unfinishedLine.removeSubrange(...end)
            }
            return lines.filter { $0[name] != nil }
        }
    }
}

struct PeerFailure: Error {
    let reason: String
}
