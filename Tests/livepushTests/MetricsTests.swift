import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// `GET /metrics`.
    @Suite
    struct MetricsTests {
        @Test("C20, C27: after sends the page counts requests, messages, deliveries and answers, by reason")
        func countsWhatHappened() throws {
            try GatewayUnderTest.run { gateway in
                let alice = try gateway.register("alice", phone: "phone-1")
                _ = try gateway.register("bob", phone: "phone-2", laID: nil)
                let dave = try gateway.register("dave", phone: "phone-3")
                let erin = try gateway.register("erin", phone: "phone-4")
                try gateway.peer.answer(alice.activityToken, .status(503, "ServiceUnavailable"))
                try gateway.peer.answer(dave.activityToken, .status(410, "Unregistered"))
                try gateway.peer.answer(erin.activityToken, .status(400, "ReasonThatNobodyKnows"))
                try gateway.send { $0.recipients = ["alice", "bob", "carol", "dave"] }
                try gateway.send { $0.recipients = ["erin"] }
                let refused = try gateway.post(TestMessage { $0.recipients = [] })
                #expect(refused["ErrorCode"]?.integer == 90029)
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")

                let page = try gateway.expectMetrics([
                    #"livepush_messages_accepted_total{endpoint="openim/batchsendmsg"} 1"#,
                    #"livepush_messages_accepted_total{endpoint="openim/sendmsg"} 1"#,
                    #"livepush_recipients_accepted_total{endpoint="openim/batchsendmsg"} 4"#,
                    #"livepush_http_requests_total{route="/v1/activities/{laId}",code="200"} 3"#,
                    #"livepush_http_requests_total{route="/v1/devices/{installation}",code="200"} 4"#,
                    #"livepush_http_requests_total{route="openim/batchsendmsg",code="0"} 1"#,
                    #"livepush_http_requests_total{route="openim/batchsendmsg",code="90029"} 1"#,
                    #"livepush_http_request_seconds_count{route="openim/sendmsg"} 1"#,
                    delivery("live_activity", "accepted_by_apns", "activity_registered", 1),
                    delivery("live_activity", "token_dead", "Unregistered", 1),
                    delivery("live_activity", "refused", "other", 1),
                    delivery("notification", "accepted_by_apns", "activity_not_registered", 1),
                    delivery("notification", "accepted_by_apns", "activity_push_refused", 1),
                    delivery("none", "nothing_to_send", "no_device", 1),
                    "livepush_fallbacks_total 1",
                    #"livepush_retries_total{reason="ServiceUnavailable"} 1"#,
                    response(200, "", 3), response(400, "other", 1), response(410, "Unregistered", 1),
                    response(503, "ServiceUnavailable", 1),
                    #"livepush_apns_request_seconds_count{environment="sandbox"} 6"#,
                    "livepush_accept_to_apns_seconds_count 6",
                    #"livepush_apns_connections{environment="production",state="open"} 0"#,
                    #"livepush_apns_streams_open{environment="sandbox"} 0"#,
                    #"livepush_apns_waiting{environment="sandbox"} 0"#,
                    "livepush_recipients_in_memory 0", "livepush_instance_alive 1",
                    "livepush_instance_registrations_total 1", "livepush_takeovers_total 0",
                    "livepush_unreadable_secrets 0",
                    #"livepush_postgres_connections{state="open"} 4"#,
                    #"livepush_queue_rows{state="due"} 0"#, "livepush_queue_oldest_seconds 0",
                    "livepush_lanes 1", "livepush_lanes_blocked 0",
                ])
                let age = page.split(separator: "\n")
                    .first { $0.hasPrefix(#"livepush_apns_provider_token_age_seconds{environment="sandbox"} "#) }
                #expect(age?.split(separator: " ").last.flatMap { Double($0) }.map { $0 < 60 } == true)
                for secret in [
                    "alice", "phone-1", alice.activityToken, alice.deviceToken, "order-1", "usersig", "administrator",
                    GatewayUnderTest.secretKey, "\"\(GatewayUnderTest.sdkAppID)\"", "ReasonThatNobodyKnows",
                ] {
                    #expect(!page.contains(secret), "the page shows \(secret)")
                }
            }
        }

        @Test("The figures of two lanes are summed, whichever lane is asked")
        func lanesAreSummed() throws {
            try GatewayUnderTest.run(flags: ["--lanes", "2"]) { gateway in
                try gateway.register()
                for step in 1...20 {
                    try gateway.send {
                        // A notification, since an update that comes too late is superseded and not sent.
                        $0.laID = nil
                        $0.desc = "step \(step)"
                    }
                }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                for _ in 1...8 {
                    try gateway.expectMetrics([
                        #"livepush_messages_accepted_total{endpoint="openim/sendmsg"} 20"#, response(200, "", 20),
                        "livepush_lanes 2", #"livepush_postgres_connections{state="open"} 8"#,
                    ])
                }
            }
        }

        @Test("The page answers while PostgreSQL is away, and says so")
        func databaseAway() throws {
            let flags = ["--heartbeat-interval", "0.2", "--takeover-after", "2.5", "--send-stop-after", "1.5"]
            try GatewayUnderTest.run(flags: flags) { gateway in
                #expect(try gateway.metrics().contains("\nlivepush_instance_alive 1\n"))
                try gateway.closeDatabase()
                let isTold = try eventually {
                    let page = try gateway.metrics()
                    return page.contains("\nlivepush_instance_alive 0\n")
                        && page.contains("\nlivepush_postgres_connections{state=\"open\"} 0\n")
                        && !page.contains("\nlivepush_queue_rows{")
                }
                #expect(isTold)
            }
        }

        @Test(
            "The log sums up what happened at each interval and at the end, without account or token; off writes none"
        )
        func summaryInTheLog() throws {
            try GatewayUnderTest.run(flags: ["--log-summary", "0.2"]) { gateway in
                let alice = try gateway.register("alice", phone: "phone-1")
                try gateway.peer.answer(alice.activityToken, .status(503, "ServiceUnavailable"))
                try gateway.send { $0.recipients = ["alice", "carol"] }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let log = try gateway.server
                let isTold = eventually {
                    [
                        #""message":"recipients put off","reason":"ServiceUnavailable","count":1}"#,
                        #""outcome":"accepted_by_apns","reason":"activity_registered","count":1}"#,
                        #""outcome":"nothing_to_send","reason":"no_device","count":1}"#,
                    ].allSatisfy { log.log.contains($0) }
                }
                #expect(isTold, "\(log.log)")
                for secret in ["alice", "phone-1", alice.activityToken, alice.deviceToken, "order-1"] {
                    #expect(!log.log.contains(secret), "\(secret)")
                }

                let atTheEnd = try gateway.serve(["--log-summary", "60"])
                try gateway.send { $0.recipients = ["carol"] }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                _ = atTheEnd.program.end(SIGTERM)
                #expect(
                    atTheEnd.log.contains(#""messages":1,"recipients":1,"repeats":0,"accepted_by_apns":0,"#),
                    "\(atTheEnd.log)"
                )

                let without = try gateway.serve(["--log-summary", "off"])
                try gateway.send { $0.recipients = ["carol"] }
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                _ = without.program.end(SIGTERM)
                #expect(!without.log.contains("summary"), "\(without.log)")
            }
        }

        @Test("Only GET and HEAD are answered, and --metrics off takes the path away")
        func methodsAndSwitch() throws {
            try GatewayUnderTest.run { gateway in
                #expect(try gateway.request("POST", "/metrics").status == 405)
                let head = try gateway.request("HEAD", "/metrics")
                #expect(head.status == 200 && head.text.isEmpty)
                #expect(try gateway.request("GET", "/metrics/").status == 404)
                try gateway.serve(["--metrics", "off"])
                #expect(try gateway.request("GET", "/metrics").status == 404)
            }
        }

        @Test(
            "PyPI's prometheus-client reads the page; every metric has a help text and a conventional name",
            .enabled(if: Paths.python != nil, "Deploy/test makes .build/python, with the parser in it"),
        )
        func prometheusReadsThePage() throws {
            let python = try #require(Paths.python)
            try GatewayUnderTest.run { gateway in
                try gateway.register()
                try gateway.send()
                try gateway.expectSQL("SELECT count(*) FROM pending", "0")
                let address = "http://127.0.0.1:\(try gateway.serve().port)/metrics"
                let scrape = try ChildProcess.run(python, ["\(Paths.peers)/scrape.py", address])
                try #require(scrape.status == 0, "\(scrape.errors)")
                let json = try JSONDocument(parsing: Array(scrape.output.utf8)).root
                #expect(json["contentType"]?.string == "text/plain; version=0.0.4; charset=utf-8")
                let families = try #require(json["families"]).elements
                #expect(families.count > 30)
                for family in families {
                    let name = try #require(family["name"]?.string)
                    #expect(family["help"]?.string?.hasSuffix(".") == true || name == "livepush_build_info", "\(name)")
                    #expect(["counter", "gauge", "histogram"].contains(family["type"]?.string ?? ""), "\(name)")
                    if family["type"]?.string == "histogram" {
                        #expect(name.hasSuffix("_seconds"))
                    }
                    for sample in try #require(family["samples"]).elements where family["type"]?.string == "counter" {
                        #expect(sample["name"]?.string == name + "_total")
                    }
                }
            }
        }

        @Test("The samples in Deploy/prometheus name only metrics that a gateway exports")
        func samplesNameExportedMetrics() throws {
            try GatewayUnderTest.run { gateway in
                let exported = Set(
                    try gateway.metrics().split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
                        .map { String($0.split(separator: " ")[2]) }
                )
                for file in ["alerts.yml", "grafana-dashboard.json"] {
                    let text = try ChildProcess.run("cat", ["\(Paths.package)/Deploy/prometheus/\(file)"]).output
                    let named = Set(text.matches(of: /(?:livepush|process)_[a-z_]+/).map { String($0.output) })
                    #expect(named.count > 10, "\(file)")
                    for name in named {
                        let family = name.replacing(/_(bucket|sum|count)$/, with: "")
                        #expect(exported.contains(name) || exported.contains(family), "\(file) names \(name)")
                    }
                    if file.hasSuffix(".json") {
                        _ = try JSONDocument(parsing: Array(text.utf8))
                    }
                }
            }
        }

        private func delivery(_ route: String, _ outcome: String, _ reason: String, _ count: Int) -> String {
            #"livepush_deliveries_total{route="\#(route)",outcome="\#(outcome)",reason="\#(reason)"} \#(count)"#
        }

        private func response(_ status: Int, _ reason: String, _ count: Int) -> String {
            #"livepush_apns_responses_total{environment="sandbox",status="\#(status)",reason="\#(reason)"} \#(count)"#
        }
    }
}

extension GatewayUnderTest {
    /// A request without headers or body.
    func request(_ method: String, _ target: String) throws -> HTTPExchange.Answer {
        try HTTPExchange(method, port: try port, target).answer()
    }

    /// The page of metrics of the last server.
    func metrics() throws -> String {
        let answer = try request("GET", "/metrics")
        guard answer.status == 200 else { throw ChildProcess.Failure("/metrics: \(answer.status)") }
        return answer.text
    }

    /// Waits until the page has all these lines, and records an issue for each that it lacks: what is committed is
    /// counted a moment later.
    ///
    /// - Returns: the page.
    @discardableResult
    func expectMetrics(_ lines: [String], sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        var page = ""
        var missing: [String] = []
        _ = try eventually(within: 5) {
            page = try metrics()
            missing = lines.filter { !page.contains("\n\($0)\n") }
            return missing.isEmpty
        }
        #expect(missing.isEmpty, "\(missing) not in: \(page)", sourceLocation: sourceLocation)
        return page
    }
}
