import VerbatimJSON

/// `livepush send`.
enum SendCommand: Command {
    static let name = "send"
    static let summary = "send a test message through a running gateway"
    static let discussion = """
        Posts to /v4/openim/batchsendmsg as an administrator of the app and prints the answer. With --la-id it instructs
        a Live Activity; who has not registered it gets --title and --text as a notification.
        """
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID,
        CommandOption(name: "url", kind: .value("URL"), help: "the gateway; http://127.0.0.1:8080 if absent"),
        CommandOption(name: "to", kind: .values("ACCOUNT"), help: "a recipient; repeatable"),
        CommandOption(name: "from", kind: .value("ACCOUNT"), help: "the sender; an administrator of the app if absent"),
        CommandOption(name: "title", kind: .value("TEXT"), help: "title of the notification"),
        CommandOption(name: "text", kind: .value("TEXT"), help: "text of the notification"),
        CommandOption(name: "la-id", kind: .value("LAID"), help: "the Live Activity"),
        CommandOption(name: "event", kind: .value("update|end"), help: "update if absent"),
        CommandOption(
            name: "content-state",
            kind: .value("JSON"),
            help: "the new state, a JSON object; {} if absent",
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let recipients = arguments.texts("to")
        guard !recipients.isEmpty else { throw UsageError("--to is needed") }
        let body = try body(arguments, recipients)
        let application = try await StoredApplication.load(id, arguments)
        let (administrator, signature) = try application.administratorSignature(sdkAppID: id)
        let query =
            "sdkappid=\(id)&identifier=\(percentEncoded(administrator))&usersig=\(percentEncoded(signature))"
            + "&random=\(UInt32.random(in: 0...UInt32.max))&contenttype=json"
        let url = arguments.text("url") ?? "http://127.0.0.1:8080"
        let answer = try await PlainHTTPClient.post(url, path: "/v4/openim/batchsendmsg?\(query)", body: body)
        StandardOutput.write(String(decoding: answer.body, as: UTF8.self) + "\n")
        let status = (try? JSONDocument(parsing: answer.body))?.root["ActionStatus"]?.string
        guard status == "OK" else { throw CommandFailure("the gateway did not accept the message for every recipient") }
    }

    private static func body(_ arguments: CommandArguments, _ recipients: [String]) throws -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("To_Account")
        writer.beginArray()
        for recipient in recipients {
            writer.string(recipient)
        }
        writer.endArray()
        writer.member("From_Account", arguments.text("from"))
        writer.member("MsgRandom", UInt32.random(in: 0...UInt32.max))
        writer.key("MsgBody")
        writer.raw(
            Array(#"[{"MsgType":"TIMTextElem","MsgContent":{"Text":"#.utf8) + quoted(arguments.text("text") ?? "")
                + Array("}}]".utf8)
        )
        writer.key("OfflinePushInfo")
        writer.beginObject()
        writer.member("Title", arguments.text("title"))
        writer.member("Desc", arguments.text("text"))
        if let laID = arguments.text("la-id") {
            let state = Array((arguments.text("content-state") ?? "{}").utf8)
            guard (try? JSONDocument(parsing: state))?.root.kind == .object else {
                throw UsageError("--content-state: expected a JSON object")
            }
            writer.key("ApnsInfo")
            writer.beginObject()
            writer.key("LiveActivity")
            writer.beginObject()
            writer.member("LaId", laID)
            writer.member("Event", try arguments.oneOf("event", ["update", "end"]) ?? "update")
            writer.member("ContentState", raw: state)
            writer.endObject()
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
        return writer.bytes
    }

    private static func quoted(_ text: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.string(text)
        return writer.bytes
    }

    static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                String(UnicodeScalar(byte))
            default:
                "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
