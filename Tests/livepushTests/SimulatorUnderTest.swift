import TestSupport
import Testing
import VerbatimJSON

/// A running `livepush simulator` that knows the signing key of a gateway under test.
final class SimulatorUnderTest {
    let sandboxPort: Int
    /// Options of `serve` by which it reaches the sandbox.
    let options: [String]
    /// The file with its CA.
    let authority: String
    private let program: RunningProgram
    private let controlPort: Int

    /// - Parameter folder: where the gateway's keys are, and its CA goes.
    init(folder: String) throws {
        authority = "\(folder)/simulator-ca.pem"
        program = try RunningProgram(Paths.livepush, ["simulator", "--ca-file", authority])
        let program = program
        guard eventually({ program.output.hasSuffix("\n") || program.status != nil }), program.status == nil else {
            throw ChildProcess.Failure("the simulator did not start: \(program.errors)")
        }
        let ports = try JSONDocument(parsing: Array(program.output.utf8)).root
        sandboxPort = Int(try #require(ports["sandbox"]?.integer))
        func host(_ name: String) throws -> String { "https://localhost:\(try #require(ports[name]?.integer))" }
        options = [
            "--apns-sandbox", try host("sandbox"), "--apns-broadcast-sandbox", try host("broadcastSandbox"),
            "--apns-manage-broadcast-sandbox", try host("manageBroadcastSandbox"), "--apns-ca-file", authority,
        ]
        controlPort = Int(try #require(ports["control"]?.integer))
        let key = try ChildProcess.run("openssl", ["pkey", "-in", "\(folder)/AuthKey_ABCDE12345.p8", "-pubout"]).output
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("keyId", "ABCDE12345")
        writer.member("teamId", "TEAM123456")
        writer.member("publicKey", key)
        writer.endObject()
        try post("/keys", String(decoding: writer.bytes, as: UTF8.self))
    }

    /// Posts to its control port.
    func post(_ path: String, _ body: String) throws {
        let answer = try HTTPExchange("POST", port: controlPort, path, body: body).answer()
        guard answer.status == 200 else { throw ChildProcess.Failure("the simulator refused \(path): \(answer.text)") }
    }

    /// What an answer of its control port says.
    func get(_ path: String) throws -> JSONValue {
        try HTTPExchange("GET", port: controlPort, path).answer().json
    }

    /// What arrived, oldest first.
    func pushes() throws -> [JSONValue] {
        try #require(HTTPExchange("GET", port: controlPort, "/pushes").answer().json["pushes"]).elements
    }
}
