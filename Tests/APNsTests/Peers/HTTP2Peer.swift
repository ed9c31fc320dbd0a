import Foundation
import Synchronization
import VerbatimJSON

/// The Python peer as a child process with its own test certificate. It ends when ``stop()`` is called, or with the
/// tests.
final class HTTP2Peer: Sendable {
    let port: Int
    let certificates: TestCertificates

    private let process: Mutex<Process>
    private let input: Mutex<FileHandle>
    private let lines: Mutex<[JSONValue]>

    /// - Parameters:
    ///   - options: a JSON object, see the script.
    ///   - hosts: for whom the certificate is.
    init(_ options: String = "{}", hosts: String = "DNS:localhost,IP:127.0.0.1") async throws {
        let certificates = try TestCertificates(hosts: hosts)
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [
            URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/http2_peer.py",
            certificates.certificateFile, certificates.keyFile,
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data((options + "\n").utf8))

        let reader = LineReader(output.fileHandleForReading)
        guard let port = try reader.next()?["port"]?.integer, try reader.next()?["ready"] != nil else {
            throw PeerFailure(reason: "the peer did not start")
        }
        self.port = Int(port)
        self.certificates = certificates
        self.process = Mutex(process)
        self.input = Mutex(input.fileHandleForWriting)
        self.lines = Mutex([])
        Thread.detachNewThread { [weak self] in
            while let line = try? reader.next() {
                self?.lines.withLock { $0.append(line) }
            }
        }
    }

    deinit {
        stop()
    }

    func stop() {
        // Not by closing its standard input alone: peers that were started meanwhile have inherited that pipe's end, so
        // two that are stopped at the same time would wait for each other for ever.
        process.withLock {
            $0.terminate()
            $0.waitUntilExit()
        }
        input.withLock { try? $0.close() }
    }

    /// Changes options for what comes later.
    func set(_ options: String) async throws {
        let count = linesSoFar("ready").count
        try input.withLock { try $0.write(contentsOf: Data((options + "\n").utf8)) }
        _ = try await wait(for: "ready", count: count + 1)
    }

    /// The lines with that member that the peer has written until now.
    func lines(_ name: String) async throws -> [JSONValue] {
        // Its answer comes behind all of them.
        try await set("{}")
        return linesSoFar(name)
    }

    private func linesSoFar(_ name: String) -> [JSONValue] {
        lines.withLock { $0.filter { $0[name] != nil } }
    }

    /// Waits until there are so many lines with that member.
    func wait(for name: String, count: Int = 1) async throws -> [JSONValue] {
        for _ in 0..<4000 {
            let found = linesSoFar(name)
            if found.count >= count { return found }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw PeerFailure(reason: "the peer never said \(name) \(count) times")
    }

    /// The distinct values of a request header.
    func values(of header: String) async throws -> Set<String> {
        Set(try await lines("request").compactMap { $0["request"]?[header]?.string })
    }
}

struct PeerFailure: Error {
    let reason: String
}

/// Reads lines of JSON. Used by one thread at a time.
private final class LineReader: @unchecked Sendable {
    private let handle: FileHandle
    private var buffer: [UInt8] = []

    init(_ handle: FileHandle) {
        self.handle = handle
    }

    func next() throws -> JSONValue? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[..<end])
                buffer.removeFirst(end + 1)
                return try JSONDocument(parsing: line).root
            }
            let data = handle.availableData
            guard !data.isEmpty else { return nil }
            buffer += data
        }
    }
}
