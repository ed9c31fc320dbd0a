import APNsSimulator
import Logging
import Testing
import VerbatimJSON

/// Clients that nobody here wrote: curl, nghttp, aioapns, h2, openssl.
@Suite("APNsSimulator with independent clients", .timeLimit(.minutes(5)), .serialized)
struct APNsSimulatorTests {
    @Test("curl: a push is accepted, and seen on the control port")
    func curlAccepted() async throws {
        try await RunningSimulator.with { running in
            let id = "123e4567-e89b-12d3-a456-4266554400a0"
            let answer = try running.push(arguments: "-H 'apns-id: \(id)'")
            #expect(answer.hasPrefix("HTTP/2 200"), "\(answer)")
            #expect(answer.contains("apns-id: \(id)"))
            #expect(!answer.contains("apns-unique-id"))
            let record = try #require(try running.pushes().first)
            #expect(record["environment"]?.string == "production")
            #expect(record["status"]?.integer == 200)
            #expect(record["payload"].map { Array($0.verbatim) } == Array(Fixture.alert.utf8))
            #expect(record["headers"]?["authorization"]?["iss"]?.string == "DEF123GHIJ")
        }
    }

    @Test("curl: an id that the simulator makes is upper-case, and the sandbox has a unique id")
    func curlSandbox() async throws {
        try await RunningSimulator.with { running in
            let answer = try running.push("$S")
            let id = try #require(answer.firstMatch(of: /apns-id: ([0-9A-F-]{36})/), "\(answer)")
            #expect(id.1.contains { $0.isLetter })
            #expect(answer.contains("apns-unique-id: "))
            #expect(try running.pushes().first?["environment"]?.string == "sandbox")
        }
    }

    @Test("curl: a refusal is JSON with Apple's word")
    func curlRefused() async throws {
        try await RunningSimulator.with { running in
            let answer = try running.push("$P", token: "abc")
            #expect(answer.hasPrefix("HTTP/2 400"), "\(answer)")
            #expect(answer.contains("content-type: application/json"))
            #expect(answer.hasSuffix(#"{"reason":"BadDeviceToken"}"#))
        }
    }

    @Test("C40, C89: declared tokens answer as declared, with times, time and environment")
    func declaredTokens() async throws {
        try await RunningSimulator.with { running in
            let token = Fixture.deviceToken
            func declare(_ rest: String) throws -> String {
                try running.control("POST", "/tokens", #"{"token":"\#(token)",\#(rest)}"#).status
            }
            let dead =
                #""environment":"both","behaviour":{"status":410,"reason":"Unregistered","timestamp":1796000000123}"#
            #expect(try declare(dead) == "200")
            #expect(try running.push().hasSuffix(#"{"reason":"Unregistered","timestamp":1796000000123}"#))
            #expect(try declare(#""environment":"sandbox""#) == "200")
            #expect(try running.push("$P").hasSuffix(#"{"reason":"BadDeviceToken"}"#))
            #expect(try running.push("$S").hasPrefix("HTTP/2 200"))
            let busy = #""behaviour":{"status":429,"reason":"TooManyRequests","retryAfter":7,"times":1}"#
            #expect(try declare(busy) == "200")
            #expect(try running.push().contains("retry-after: 7"))
            #expect(try running.push().hasPrefix("HTTP/2 200"))
            for drop in ["stream", "connection"] {
                #expect(try declare(#""behaviour":{"drop":"\#(drop)","times":1}"#) == "200")
                #expect(try !running.push().contains("HTTP/2"))
                #expect(try running.pushes().last?["dropped"]?.string == drop)
            }
            #expect(try declare(#""behaviour":{"drop":"answer"}"#) == "200")
            #expect(try running.push(arguments: "--max-time 0.5").isEmpty)
            #expect(try running.control("DELETE", "/tokens").status == "200")
            #expect(try running.push().hasPrefix("HTTP/2 200"))
            let log = try running.control("GET", "/pushes?token=\(token.uppercased())&since=2").root
            #expect(log["pushes"]?.elements.count == 7)
            #expect(log["next"]?.integer == 9)
            #expect(try running.control("DELETE", "/pushes").status == "200")
            #expect(try running.pushes().isEmpty)
        }
    }

    @Test(
        "the control port refuses what it cannot understand",
        arguments: [
            ("POST", "/tokens", "{", "400"), ("POST", "/tokens", "{}", "400"),
            ("POST", "/tokens", #"{"token":"ab"}"#, "400"),
            ("POST", "/tokens", #"{"token":"\#(Fixture.deviceToken)","environment":"staging"}"#, "400"),
            ("POST", "/tokens", #"{"token":"\#(Fixture.deviceToken)","behaviour":{"status":200}}"#, "400"),
            ("POST", "/tokens", #"{"token":"\#(Fixture.deviceToken)","behaviour":{"status":410}}"#, "400"),
            ("POST", "/tokens", #"{"token":"\#(Fixture.deviceToken)","behaviour":{"drop":"all"}}"#, "400"),
            ("POST", "/keys", #"{"keyId":"ABC123DEFG","teamId":"DEF123GHIJ","publicKey":"no"}"#, "400"),
            ("POST", "/keys", #"{"keyId":"ABC","teamId":"DEF123GHIJ","publicKey":"no"}"#, "400"),
            ("GET", "/pushes?since=-1", nil, "400"), ("GET", "/nothing", nil, "404"), ("PUT", "/pushes", nil, "405"),
        ] as [(String, String, String?, String)]
    )
    func controlFaults(_ method: String, _ path: String, _ body: String?, _ status: String) async throws {
        try await RunningSimulator.with { running in
            let answer = try running.control(method, path, body)
            #expect(answer.status == status)
            #expect(answer.root["error"]?["message"]?.string != nil)
        }
    }

    @Test("nghttp: one stream is announced first, and the configured number after the first accepted push")
    func settings() async throws {
        try await RunningSimulator.with({ $0.maximumConcurrentStreams = 321 }) { running in
            try running.write(Fixture.alert, to: "body.json")
            let output = running.run(
                """
                nghttp -nv -d body.json -H 'authorization: bearer \(RunningSimulator.freshToken())' \
                -H 'apns-topic: com.ex.app' https://localhost:$P/3/device/\(Fixture.deviceToken)
                """
            )
            // nghttp prints frames in blocks that start with a time in brackets.
            let received = output.split(separator: "\n[").filter { $0.contains("recv SETTINGS") }
            let limits = received.flatMap { block in
                block.matches(of: /SETTINGS_MAX_CONCURRENT_STREAMS\(0x03\):(\d+)/).map { String($0.1) }
            }
            #expect(limits == ["1", "321"], "\(output)")
            for setting in [
                "HEADER_TABLE_SIZE(0x01):4096", "MAX_FRAME_SIZE(0x05):16384", "MAX_HEADER_LIST_SIZE(0x06):8000",
            ] {
                #expect(output.contains("SETTINGS_" + setting))
            }
            #expect(output.contains("SETTINGS_INITIAL_WINDOW_SIZE(0x04):65535"))
            #expect(output.contains(":status: 200"))
        }
    }

    @Test("aioapns with a real key is accepted, and refused with another key")
    func aioapns() async throws {
        try await RunningSimulator.with { running in
            try running.write(PythonClients.aioapns, to: "send.py")
            let key = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out"
            let made = running.run(
                "\(key) good.p8 && \(key) bad.p8 && openssl pkey -in good.p8 -pubout -out good.pem && cat good.pem"
            )
            var writer = JSONWriter()
            writer.beginObject()
            writer.member("keyId", "ABC123DEFG")
            writer.member("teamId", "DEF123GHIJ")
            writer.member("publicKey", String(made.drop { $0 != "-" }))
            writer.endObject()
            #expect(try running.control("POST", "/keys", String(decoding: writer.bytes, as: UTF8.self)).status == "200")
            let good = running.run("/usr/bin/python3 send.py good.p8 \(Fixture.activityToken) 20")
            #expect(good.contains("200 20 times"), "\(good)")
            let bad = running.run("/usr/bin/python3 send.py bad.p8 \(Fixture.activityToken) 1")
            #expect(bad.contains("403 InvalidProviderToken"), "\(bad)")
            let records = try running.pushes()
            #expect(records.count == 21)
            #expect(records.first?["ignoredByPhone"] == nil)
        }
    }

    @Test("h2: a second stream before the first answer is refused and the connection lives on")
    func refusedStream() async throws {
        try await RunningSimulator.with { running in
            try running.write(PythonClients.streams, to: "streams.py")
            let output = running.run(
                "/usr/bin/python3 streams.py \(RunningSimulator.freshToken()) \(Fixture.deviceToken)"
            )
            #expect(output == "1 200\n3 reset 7\n5 200\n7 200\n", "\(output)")
        }
    }

    @Test("garbage of every kind ends its connection and nothing else")
    func garbage() async throws {
        try await RunningSimulator.with { running in
            try running.write(PythonClients.garbage, to: "garbage.py")
            #expect(running.run("/usr/bin/python3 garbage.py") == "alive\n")
            let overHTTP1 = running.run(
                "curl -s -o /dev/null -w '%{http_code}' --http1.1 --max-time 5 --cacert ca.pem https://localhost:$P/"
            )
            #expect(overHTTP1 == "000")
            #expect(try running.push().hasPrefix("HTTP/2 200"))
        }
    }

    @Test("the test certificate is good for the names given, and TLS 1.1 is refused")
    func certificate() async throws {
        try await RunningSimulator.with({ $0.certificateNames = ["api.push.apple.com", "10.1.2.3"] }) { running in
            let names = running.run(
                "echo | openssl s_client -connect localhost:$P -alpn h2 2>/dev/null | openssl x509 -noout -ext subjectAltName"
            )
            for name in ["DNS:localhost", "IP Address:127.0.0.1", "DNS:api.push.apple.com", "IP Address:10.1.2.3"] {
                #expect(names.contains(name), "\(names)")
            }
            let verified = running.run(
                "echo | openssl s_client -connect 127.0.0.1:$P -alpn h2 -CAfile ca.pem -verify_return_error -verify_ip ::1"
            )
            #expect(verified.contains("Verification: OK"))
            #expect(verified.contains("ALPN protocol: h2"))
            let old = running.run(
                "echo | openssl s_client -connect localhost:$P -alpn h2 -tls1_1 -cipher DEFAULT@SECLEVEL=0"
            )
            #expect(!old.contains("Cipher is ECDHE"))
        }
    }

    @Test("a certificate and key from files are used; half of the pair or a wrong file is an error")
    func certificateFiles() async throws {
        try await RunningSimulator.with { running in
            let made = running.run(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out certificate.pem -subj /CN=own 2>&1"
            )
            #expect(!made.contains("rror"))
            var configuration = APNsSimulatorConfiguration()
            configuration.certificateFile = running.directory + "/certificate.pem"
            #expect(throws: APNsSimulatorError.self) {
                _ = try APNsSimulator(configuration, logger: Logger(minimumLevel: .error))
            }
            configuration.privateKeyFile = running.directory + "/certificate.pem"
            #expect(throws: APNsSimulatorError.self) {
                _ = try APNsSimulator(configuration, logger: Logger(minimumLevel: .error))
            }
            configuration.privateKeyFile = running.directory + "/key.pem"
            let own = try APNsSimulator(configuration, logger: Logger(minimumLevel: .error))
            own.start()
            let subject = running.run("echo | openssl s_client -connect localhost:\(own.productionPort) -alpn h2")
            #expect(subject.contains("CN = own"))
            await own.stop()
        }
    }

    @Test("IPv6 addresses are listened on too, and GET /status counts connections")
    func version6() async throws {
        try await RunningSimulator.with({ $0.productionListen = "[::1]:0" }) { running in
            #expect(try running.push(arguments: "--resolve localhost:$P:[::1]").hasPrefix("HTTP/2 200"))
            let index = try running.control("GET", "/status").root
            #expect(index["connections"]?["production"]?.integer == 1)
            #expect(index["connections"]?["sandbox"]?.integer == 0)
            #expect(index["pushes"]?.integer == 1)
        }
    }

    @Test("an address that is taken, or none, is an error")
    func listenFaults() async throws {
        try await RunningSimulator.with { running in
            for address in ["127.0.0.1:\(running.simulator.productionPort)", "localhost:0", "", "[::1"] {
                var configuration = APNsSimulatorConfiguration()
                configuration.sandboxListen = address
                #expect(throws: APNsSimulatorError.self) {
                    _ = try APNsSimulator(configuration, logger: Logger(minimumLevel: .error))
                }
            }
        }
    }
}
