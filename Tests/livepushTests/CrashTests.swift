import TestSupport
import Testing

extension EndToEndTests {
    /// Faults under load. The judge is `Peers/faults.py`: a backend that compares the answers it was given with what
    /// arrived at APNs, and asks no table. Each scenario has gateways, an APNs and a PostgreSQL of its own, so several run
    /// at a time: most of their time they wait.
    @Suite
    struct CrashTests {
        @Test(
            "Gateways killed, or stopped and resumed, 20 times; work taken over within 30 s; one that kills its gateway"
        )
        func deaths() throws {
            try run("kill=20", "takeover=20", "poison=500", "resume=60")
        }

        @Test(
            "PostgreSQL away or read-only, gateways restarted in turn, APNs silent or slow at full ingest, misbehaving clients"
        )
        func surroundings() throws {
            try run("database=6", "rolling=4", "outage=3", "slow=8", "clients=1", "idle=4000")
        }

        private func run(_ scenarios: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
            let program = "\(Paths.peers)/faults.py"
            let outcome = try ChildProcess.run(
                "/usr/bin/python3",
                ["-B", program, "--livepush", Paths.livepush] + scenarios,
            )
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)", sourceLocation: sourceLocation)
        }
    }
}
