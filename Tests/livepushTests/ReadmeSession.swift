import Glibc
import TestSupport
import VerbatimJSON

/// What README.md says, typed into one shell, with a private PostgreSQL and the simulator in Apple's place. The blocks
/// run as they are; only the port in GATEWAY is another, since 8080 may be taken.
struct ReadmeSession {
    /// What the session left.
    struct Results {
        /// Answers to the `curl` of the shell blocks.
        var curlAnswers: [JSONValue] = []
        /// Answers to the `json request` blocks.
        var postAnswers: [JSONValue] = []
        /// The gateway's log.
        var logLines: [JSONValue] = []
        /// What the simulator got, oldest first.
        var pushes: [JSONValue] = []
    }

    private static let defaultAddress = "127.0.0.1:8080"

    private let readme: Readme

    init(_ readme: Readme) {
        self.readme = readme
    }

    /// The text of every `--help`.
    static func help() throws -> String {
        let commands = [
            "serve", "migrate", "doctor", "retention", "app add", "app set", "app list", "app remove",
            "app code add", "app token add",
            "certificate add",
            "certificate list",
            "certificate remove", "certificate token", "master-key rotate", "registrations import", "usersig", "send",
            "explain",
            "channel create", "channel send", "channel list", "segment add", "segment remove", "segment import",
            "simulator", "payload update", "payload date", "schema import", "schema add", "bench",
        ]
        return try commands.map { command in
            let words = command.split(separator: " ").map(String.init) + ["--help"]
            return try ChildProcess.run(Paths.livepush, words).output
        }.joined()
    }

    /// Throws if `code` is not Swift.
    static func parse(_ code: String) throws {
        let outcome = try ChildProcess.run("swiftc", ["-swift-version", "6", "-parse", "-"], input: code)
        guard outcome.status == 0 else { throw ChildProcess.Failure(outcome.errors) }
    }

    func run() throws -> Results {
        let postgres = try PrivatePostgres.shared()
        let environment = [
            "PATH=\(Paths.livepush.dropLast("/livepush".count)):\(String(cString: getenv("PATH")))", "PGHOST=127.0.0.1",
            "PGPORT=\(postgres.port)", "PGUSER=postgres", "PYTHON=\(Paths.python ?? "")",
        ]
        let script = [ReadmeSession.beginning] + readme.blocks.map { command(for: $0) } + [ReadmeSession.end]
        let outcome = try ChildProcess.run(
            "env",
            environment + ["timeout", "100", "bash", "-c", script.joined(separator: "\n")],
        )
        guard outcome.status == 0 else {
            throw ChildProcess.Failure("the session ended with \(outcome.status): \(outcome.errors)")
        }
        return try results(outcome.output)
    }

    private func results(_ output: String) throws -> Results {
        var results = Results()
        for line in output.split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2 else { throw ChildProcess.Failure("not a result: \(line)") }
            let json = try JSONDocument(parsing: Array(parts[1].utf8)).root
            switch parts[0] {
            case "curl": results.curlAnswers.append(json)
            case "post": results.postAnswers.append(json)
            case "log": results.logLines.append(json)
            default: results.pushes = json["pushes"]?.elements ?? []
            }
        }
        return results
    }

    // MARK: - The script

    private func command(for block: Readme.Block) -> String {
        let file = "block-\(block.line)"
        let text = block.text
        let here = "step=\(block.line)\n"
        let written = here + "cat > \(file) <<'END-OF-BLOCK'\n\(text)END-OF-BLOCK\n"
        switch block.tag {
        case "sh test":
            return here
                + text.split(separator: ReadmeSession.defaultAddress, omittingEmptySubsequences: false)
                .joined(separator: "127.0.0.1:$PORT")
        case "sh test serve": return here + "serve \(text)"
        case "sql test": return written + "find_rows \(file)"
        case "sql test any": return written + "sql \(file)"
        case "json request": return written + "post \(file)"
        case "python test": return written + "run_python \(file)"
        case "swift test": return written + "run_swift \(file)"
        default: return ""
        }
    }

    /// Output of the blocks goes to standard error; standard output has one line for each result.
    private static let beginning = #"""
        set -euo pipefail
        exec 3>&1 1>&2
        folder=$(mktemp -d -t livepush-readme.XXXXXX)
        cd "$folder"
        processes=() step=0
        leave() {
            status=$?
            trap - EXIT
            [ "$status" = 0 ] || { echo "failed in the block at line $step"; tail -n 5 serve.log || true; }
            for process in "${processes[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
            rm -rf "$folder"
            exit "$status"
        }
        trap leave EXIT
        trap 'exit 143' TERM
        curl() {
            local answer
            answer=$(command curl --silent --show-error --fail-with-body "$@") || { echo "$answer"; return 1; }
            echo "$answer"
            case $answer in "{"*) echo "curl $answer" >&3 ;; esac
        }
        post() {
            local answer
            answer=$(command curl --silent --show-error --fail-with-body --data "@$1" "$SENDMSG") || return 1
            echo "post $answer" >&3
        }
        sql() { psql "$LIVEPUSH_DATABASE_URL" -X -A -t -q -v ON_ERROR_STOP=1 -f "$1"; }
        find_rows() {
            for attempt in $(seq 50); do
                [ -z "$(sql "$1")" ] || return 0
                sleep 0.1
            done
            echo "no rows"
            return 1
        }
        serve() {
            "$@" 2> serve.log &
            gateway=$!
            processes+=("$gateway")
            until command curl --silent --fail "$GATEWAY/readyz"; do kill -0 "$gateway"; sleep 0.1; done
        }
        run_python() {
            if [ -n "$PYTHON" ]; then "$PYTHON" "$1"; else python3 -c "compile(open('$1').read(), '$1', 'exec')"; fi
        }
        run_swift() {
            mkdir client
            mv "$1" client/Client.swift
            cat > client/main.swift <<'END'
        import Foundation

        #if canImport(FoundationNetworking)
            import FoundationNetworking
        #endif

        struct Unexpected: Error { var found: [String] }

        let environment = ProcessInfo.processInfo.environment
        let gateway = environment["GATEWAY"] ?? ""
        let userSig = environment["ALICE_USERSIG"] ?? ""
        let client = LivePushClient(gateway: gateway, userSig: userSig, installation: "phone-2")
        let token = Data((0..<80).map { UInt8($0) })

        func expect(_ expected: [String]) async throws {
            var request = URLRequest(url: URL(string: gateway + "/v1/registrations")!)
            request.setValue("Bearer \(userSig)", forHTTPHeaderField: "Authorization")
            let (data, _) = try await URLSession.shared.data(for: request)
            let answer = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            let registrations = answer?["registrations"] as? [[String: Any]] ?? []
            let found = registrations.filter { $0["installation"] as? String == "phone-2" }
                .map { $0["laId"] as? String ?? "device" }.sorted()
            guard found == expected else { throw Unexpected(found: found) }
        }

        try await client.setAPNS(token: Data(token.prefix(32)), businessID: 1)
        for (index, id) in ["a b/c", "d", "e"].enumerated() {
            let config = LiveActivityConfig(activityID: id, token: token + [UInt8(index)], businessID: 1)
            try await client.setLiveActivity(config)
        }
        try await expect(["a b/c", "d", "device", "e"])
        try await client.clearLiveActivity(activityID: "a b/c")
        try await expect(["d", "device", "e"])
        try await client.setLiveActivity(nil)
        try await expect(["device"])
        do {
            try await client.setLiveActivity(LiveActivityConfig(activityID: "f", token: token, businessID: 2))
            throw Unexpected(found: ["no error"])
        } catch let error as LivePushError {
            guard error.status == 422, error.body.contains("unknown_business_id") else { throw error }
        }
        try await client.setAPNS(token: nil, businessID: 1)
        try await expect([])
        END
            swiftc -swift-version 6 -warnings-as-errors client/Client.swift client/main.swift -o client/client
            ALICE_USERSIG=$ALICE_USERSIG client/client
        }
        livepush simulator --ca-file ca.pem > simulator.json 2> simulator.log &
        processes+=($!)
        until [ -s simulator.json ]; do kill -0 $!; sleep 0.1; done
        port() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" simulator.json; }
        control=http://127.0.0.1:$(port control)
        openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out AuthKey_ABCDE12345.p8
        public=$(openssl pkey -in AuthKey_ABCDE12345.p8 -pubout | awk '{ printf "%s\\n", $0 }')
        command curl --silent --show-error --fail "$control/keys" --data \
            '{"keyId":"ABCDE12345","teamId":"TEAM123456","topics":["com.example.shop"],"publicKey":"'"$public"'"}'
        export LIVEPUSH_APNS_SANDBOX=https://localhost:$(port sandbox) LIVEPUSH_APNS_CA_FILE=$folder/ca.pem
        export LIVEPUSH_APNS_BROADCAST_SANDBOX=https://localhost:$(port broadcastSandbox)
        export LIVEPUSH_APNS_MANAGE_BROADCAST_SANDBOX=https://localhost:$(port manageBroadcastSandbox)
        PORT=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
        export LIVEPUSH_LISTEN=127.0.0.1:$PORT LIVEPUSH_LANES=1 LIVEPUSH_DRAIN_GRACE=0
        """#

    /// The gateway must end with 0 on SIGTERM.
    private static let end = #"""
        step=end
        until [ "$(psql "$LIVEPUSH_DATABASE_URL" -X -A -t -c 'SELECT count(*) FROM pending')" = 0 ]; do sleep 0.1; done
        echo "pushes $(command curl --silent --show-error --fail "$control/pushes")" >&3
        kill -TERM "$gateway"
        wait "$gateway"
        sed 's/^/log /' serve.log >&3
        """#
}
