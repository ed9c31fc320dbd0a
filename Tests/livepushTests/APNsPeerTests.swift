import TestSupport
import Testing

extension EndToEndTests {
    /// The peer itself: a check that passes everything would prove nothing.
    @Suite
    struct APNsPeerTests {
        private static let requests: [([String], String, String)] = [
            (["--data", "{}"], "/3/device/aa", "MissingProviderToken403"),
            (["--data", "{}", "--header", "authorization: bearer a.b.c"], "/3/device/aa", "InvalidProviderToken403"),
            (["--data", "{}"], "/3/devices/aa", "BadPath404"),
            ([], "/3/device/aa", "MethodNotAllowed405"),
        ]

        @Test("The peer refuses what APNs refuses", arguments: requests)
        func peerRefuses(arguments: [String], path: String, answer: String) throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            let outcome = try ChildProcess.run(
                "curl",
                ["--silent", "--http2", "--cacert", gateway.peer.authority, "--write-out", "%{http_code}"]
                    + arguments + ["https://localhost:\(gateway.peer.sandboxPort)\(path)"],
            )
            #expect(outcome.output == #"{"reason": "\#(answer.dropLast(3))"}"# + answer.suffix(3))
        }

        @Test("The peer reports a header that APNs does not know")
        func peerReportsUnknownHeaders() throws {
            let gateway = try GatewayUnderTest()
            defer { gateway.end() }
            _ = try ChildProcess.run(
                "curl",
                [
                    "--silent", "--http2", "--cacert", gateway.peer.authority, "--data", "{}",
                    "https://localhost:\(gateway.peer.sandboxPort)/3/device/aa",
                ],
            )
            // curl sends accept.
            #expect(try gateway.peer.pushes(1).flatMap(\.problems).contains("header accept"))
        }
    }
}
