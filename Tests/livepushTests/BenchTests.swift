import Glibc
import TestSupport
import Testing
import VerbatimJSON

extension EndToEndTests {
    /// `livepush bench`: that it measures what it says, never how fast that is.
    @Suite
    struct BenchTests {
        private static let keys: Set = [
            "pushes", "pushes_per_second", "gateway_cpu_s_per_100k", "postgres_cpu_s_per_100k", "sink_cpu_s_per_100k",
            "driver_cpu_s_per_100k", "gateway_rss_mb", "socket_writes_per_push", "accept_ms_p50", "accept_ms_p99",
            "accept_to_apns_ms_p50", "accept_to_apns_ms_p99", "wal_bytes_per_push", "batch", "registrations", "lanes",
            "connections", "in_flight", "under_way", "accepted_recipients", "delivery_rows", "sink_pushes",
            "sink_duplicates", "schemas", "rate", "fan_out", "fan_out_messages", "fan_out_pushes_per_second",
            "fan_out_accept_ms_p50", "fan_out_accept_ms_p99", "fan_out_accept_to_apns_ms_p50",
            "fan_out_accept_to_apns_ms_p99", "fan_out_rss_growth_mb", "postgres_version", "build",
        ]

        private static let fanOutKeys = keys.filter { $0.hasPrefix("fan_out") }

        private func report(_ arguments: [String]) throws -> JSONValue {
            let outcome = try ChildProcess.run(Paths.livepush, ["bench"] + arguments)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.split(separator: "\n").count == 1, "\(outcome.output)")
            let report = try JSONDocument(parsing: Array(outcome.output.utf8)).root
            #expect(Set(report.members.map(\.key)) == BenchTests.keys)
            return report
        }

        @Test(
            "Twice as many pushes as activities: each is accepted, written down and pushed once",
            arguments: [1, 300]
        )
        func everyPushIsCounted(batch: Int) throws {
            let report = try report([
                "--pushes", "2000", "--registrations", "1000", "--batch", "\(batch)", "--lanes", "2",
            ])
            for key in ["pushes", "accepted_recipients", "delivery_rows", "sink_pushes"] {
                #expect(report[key]?.integer == 2000, "\(key)")
            }
            #expect(report["sink_duplicates"]?.integer == 0)
            #expect(report["batch"]?.integer == Int64(batch))
            #expect(report["lanes"]?.integer == 2)
            for key in BenchTests.keys.subtracting(BenchTests.fanOutKeys)
            where key.contains("_cpu_") || key.contains("_ms_") || key.contains("_per_") {
                #expect((report[key]?.double ?? -1) >= 0, "\(key)")
            }
            #expect((report["accept_ms_p99"]?.double ?? 0) >= (report["accept_ms_p50"]?.double ?? .infinity))
            #expect((report["gateway_rss_mb"]?.double ?? 0) > 1)
            // A second lies between two pushes to one activity.
            #expect((report["pushes_per_second"]?.double ?? .infinity) < 2000)
        }

        @Test("An update to many goes out while messages go on, each push of both is counted once, a schema on or off")
        func fanOutBesideMessages() throws {
            let report = try report([
                "--pushes", "400", "--registrations", "200", "--fan-out", "1500", "--rate", "100", "--schemas", "2",
            ])
            for (key, count) in [
                ("accepted_recipients", 400), ("sink_pushes", 400), ("delivery_rows", 1900), ("fan_out", 1500),
                ("rate", 100), ("schemas", 2),
            ] {
                #expect(report[key]?.integer == Int64(count), "\(key)")
            }
            #expect(report["sink_duplicates"]?.integer == 0)
            for key in BenchTests.keys where key.contains("_ms_") {
                #expect((report[key]?.double ?? -1) > 0, "\(key)")
            }
            // The fan-out takes a while, and begins after a quarter of the messages.
            #expect(1...300 ~= report["fan_out_messages"]?.integer ?? 0)
            #expect((report["fan_out_pushes_per_second"]?.double ?? 0) > 0)
            #expect((report["fan_out_rss_growth_mb"]?.double ?? -1) >= 0)
            #expect(80...101 ~= report["pushes_per_second"]?.double ?? 0)
        }

        @Test("APNs alone: what the client accepts is what the sink counts; the rest is null")
        func apnsAloneIsCounted() throws {
            let report = try report(["--apns-only", "--pushes", "5000"])
            for key in ["pushes", "accepted_recipients", "sink_pushes"] {
                #expect(report[key]?.integer == 5000, "\(key)")
            }
            #expect(report["sink_duplicates"]?.integer == 0)
            for key in ["postgres_cpu_s_per_100k", "accept_ms_p50", "accept_to_apns_ms_p99", "delivery_rows", "batch"] {
                #expect(report[key]?.kind == .null, "\(key)")
            }
            #expect((report["gateway_cpu_s_per_100k"]?.double ?? 0) > 0)
        }

        @Test("Interrupted, it ends its processes and removes its folder")
        func interruptionLeavesNothing() throws {
            let folder = try ChildProcess.run("mktemp", ["-d", "-t", "livepush-test.XXXXXX"]).output.trimmed
            defer { _ = try? ChildProcess.run("rm", ["-rf", folder]) }
            // PostgreSQL runs under an account of its own.
            _ = try ChildProcess.run("chmod", ["711", folder])
            let bench = try RunningProgram(
                Paths.livepush,
                ["bench", "--registrations", "1000", "--pushes", "100000"],
                environment: ["TMPDIR": folder],
            )
            let measures = eventually(within: 40) { bench.errors.contains("measuring") }
            #expect(measures, "\(bench.errors)")
            #expect(!(try ChildProcess.run("pgrep", ["-f", folder]).output.isEmpty))
            #expect(bench.end(SIGINT) == 1)
            #expect(bench.errors.contains("interrupted"), "\(bench.errors)")
            #expect(bench.output.isEmpty)
            #expect(try ChildProcess.run("pgrep", ["-f", folder]).output.isEmpty)
            #expect(try ChildProcess.run("ls", ["-A", folder]).output.isEmpty)
        }
    }
}
