import APNsSimulator
import Glibc
import Logging
import TestSupport
import Testing
import VerbatimJSON

/// A simulator on free loopback ports with a directory of its own, and the shell to reach it with other people's clients.
struct RunningSimulator {
    let simulator: APNsSimulator
    let directory: String

    /// Runs `body` against a started simulator, and stops it.
    static func with(
        _ configure: (inout APNsSimulatorConfiguration) -> Void = { _ in },
        _ body: (RunningSimulator) async throws -> Void,
    ) async throws {
        var template = Array("/tmp/apns-simulator-XXXXXX".utf8CString)
        let directory = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { _ = RunningSimulator.shell("rm -r '\(directory)'") }
        var configuration = APNsSimulatorConfiguration()
        configuration.authorityOutputFile = directory + "/ca.pem"
        configure(&configuration)
        let simulator = try APNsSimulator(configuration, logger: Logger(minimumLevel: .error))
        simulator.start()
        do {
            try await body(RunningSimulator(simulator: simulator, directory: directory))
        } catch {
            await simulator.stop()
            throw error
        }
        await simulator.stop()
    }

    /// Runs a command with `$D`, `$P`, `$S` and `$C`: the directory, and the production, sandbox and control port.
    func run(_ command: String) -> String {
        let ports = "P=\(simulator.productionPort) S=\(simulator.sandboxPort) C=\(simulator.controlPort)"
        return RunningSimulator.shell("D='\(directory)' \(ports); export D P S C; cd \"$D\"; " + command)
    }

    private static func shell(_ command: String) -> String {
        do {
            return try ChildProcess.run("sh", ["-c", "exec 2>&1; " + command]).output
        } catch {
            return "\(error)"
        }
    }

    /// Writes a file into the directory.
    func write(_ text: String, to name: String) throws {
        let file = try #require(fopen(directory + "/" + name, "w"))
        #expect(fputs(text, file) >= 0)
        fclose(file)
    }

    /// Sends one push with curl over HTTP/2.
    ///
    /// - Parameter arguments: further arguments of curl.
    /// - Returns: headers, an empty line, and the body.
    func push(
        _ port: String = "$P",
        token: String = Fixture.deviceToken,
        body: String = Fixture.alert,
        topic: String = Fixture.bundleID,
        arguments: String = "",
    ) throws -> String {
        try write(body, to: "body.json")
        try write(RunningSimulator.freshToken(), to: "token")
        return run(
            """
            curl -s -i --http2 --max-time 10 --cacert ca.pem -H "authorization: bearer $(cat token)" \
            -H 'content-type:' -H 'apns-topic: \(topic)' --data-binary @body.json \(arguments) \
            https://localhost:\(port)/3/device/\(token)
            """
        )
    }

    /// The time, in seconds since 1970.
    static var seconds: Int { time(nil) }

    /// A well-formed provider token of now.
    static func freshToken() -> String {
        Fixture.providerToken(claims: #"{"iss":"DEF123GHIJ","iat":\#(time(nil))}"#)
    }

    /// Calls the control port.
    ///
    /// - Returns: the answer's status and its body.
    func control(_ method: String, _ path: String, _ body: String? = nil) throws -> (status: String, root: JSONValue) {
        try write(body ?? "", to: "control.json")
        let data = body == nil ? "" : "--data-binary @control.json"
        let answer = run("curl -s -w '%{http_code}' --max-time 10 -X \(method) \(data) 'http://127.0.0.1:'$C'\(path)'")
        return (String(answer.suffix(3)), try JSONDocument(parsing: Array(answer.dropLast(3).utf8)).root)
    }

    /// The records of `GET /pushes`.
    func pushes(_ query: String = "") throws -> [JSONValue] {
        try control("GET", "/pushes" + query).root["pushes"]?.elements ?? []
    }
}
