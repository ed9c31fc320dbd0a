import LiveActivity
import VerbatimJSON

/// What `payload start`, `payload update` and `payload end` print.
struct PayloadReport {
    let findings: [PayloadFinding]
    private let options: PayloadOptions
    private var push: LiveActivityPush { options.push }

    init(_ options: PayloadOptions, now: Int64) {
        self.options = options
        var found = options.push.findings(now: now, lastTimestamp: options.lastTimestamp, system: options.system)
        if let schema = options.schema {
            // It knows which members are dates: nobody need guess.
            found = found.filter { !$0.code.isDateGuess } + schema.findings(in: options.push.content, now: now)
        }
        findings = found + (options.token.map(LiveActivityPush.findings) ?? [])
    }

    var refusals: [PayloadFinding] { findings.filter { $0.severity == .refusal } }

    /// For people.
    var text: String {
        let payload = push.payload
        return """
            Payload, \(payload.count) of \(push.limit) bytes:
            \(String(decoding: payload, as: UTF8.self))

            Headers:
            \(push.headers.map { "\($0.name): \($0.value)\n" }.joined())\(budget)
            The command, with a provider token that is good for an hour:
            \(providerToken)
            \(curl)

            """
    }

    private var budget: String {
        guard push.priority == 10, push.content.event == .update, push.content.alert?.isEmpty ?? true else { return "" }
        return "Priority 10 counts toward the phone's hourly budget, past which updates are throttled; 5 does not.\n"
    }

    /// For machines. Without payload and command where something is refused.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        if refusals.isEmpty {
            let payload = push.payload
            writer.member("payload", raw: payload)
            writer.member("bytes", payload.count)
            writer.member("limit", push.limit)
            writer.key("headers")
            writer.beginObject()
            for (name, value) in push.headers {
                writer.member(name, value)
            }
            writer.endObject()
            writer.member("url", url(token: options.token?.hexadecimal ?? ""))
            writer.member("curl", curl)
        }
        write(refusals, "refusals", to: &writer)
        write(findings.filter { $0.severity == .warning }, "warnings", to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(_ findings: [PayloadFinding], _ name: String, to writer: inout JSONWriter) {
        writer.key(name)
        writer.beginArray()
        for finding in findings {
            finding.write(to: &writer)
        }
        writer.endArray()
    }

    // MARK: - The command

    private var providerToken: String {
        let app = options.sdkAppID.map { String($0) } ?? "N"
        let business = options.businessID.map { String($0) } ?? "N"
        return "AUTHENTICATION_TOKEN=$(livepush certificate token --sdk-app-id \(app) --business-id \(business))"
    }

    /// The shell puts in the provider token, the push token where none was given, and the time at which it runs, since a
    /// phone ignores what is a minute old.
    private var curl: String {
        var words = ["curl --http2 --write-out '%{http_code}\\n'"]
        if let caFile = options.caFile { words.append("--cacert \(PayloadReport.quoted(caFile))") }
        words.append(#"--header "authorization: bearer $AUTHENTICATION_TOKEN""#)
        for (name, value) in push.headers {
            if name == "apns-expiration", let life = options.life {
                words.append(#"--header "\#(name): $(($(date +%s) + \#(life)))""#)
            } else {
                words.append("--header \(PayloadReport.quoted("\(name): \(value)"))")
            }
        }
        words.append("--data-binary \(payloadWord)")
        words.append(address)
        return words.joined(separator: " \\\n    ")
    }

    private var payloadWord: String {
        let payload = String(decoding: push.payload, as: UTF8.self)
        let head = #"{"aps":{"timestamp":"#
        let timestamp = String(push.timestamp)
        guard options.isSentNow, payload.hasPrefix(head + timestamp) else { return PayloadReport.quoted(payload) }
        let rest = payload.dropFirst(head.count + timestamp.count)
        return PayloadReport.quoted(head) + #""$(date +%s)""# + PayloadReport.quoted(String(rest))
    }

    private var address: String {
        if options.token != nil || push.destination != .phone {
            return PayloadReport.quoted(url(token: options.token?.hexadecimal ?? ""))
        }
        let variable = push.content.event == .start ? "PUSH_TO_START_TOKEN" : "ACTIVITY_PUSH_TOKEN"
        return PayloadReport.quoted(url(token: "")) + "\"$\(variable)\""
    }

    private func url(token: String) -> String {
        options.host + push.path(token: token)
    }

    /// One word for the shell, whatever is in it.
    private static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
