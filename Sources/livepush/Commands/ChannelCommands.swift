import Glibc
import LiveActivity
import VerbatimJSON

/// A command about broadcast channels: a request to /v1/channels of a running gateway, whose connections and provider tokens
/// it goes out on, and which writes it down.
protocol ChannelCommand: Command {
    /// Method, path with query, and body of the request.
    static func request(_ arguments: CommandArguments) throws -> ChannelCommandRequest
}

/// A request to the gateway.
struct ChannelCommandRequest {
    let method: String
    let path: String
    var body: [UInt8] = []
}

extension ChannelCommand {
    static var place: [CommandOption] {
        [
            .databaseURL, .sdkAppID,
            CommandOption(name: "business-id", kind: .value("N"), help: "the certificate, which names the bundle id"),
            CommandOption(
                name: "environment",
                kind: .value("sandbox|production"),
                help: "which APNs; the certificate's if absent, needed for one that is for both",
            ),
            CommandOption(name: "url", kind: .value("URL"), help: "the gateway; http://127.0.0.1:8080 if absent"),
        ]
    }

    static var channel: CommandOption {
        CommandOption(name: "channel", kind: .value("ID"), help: "the channel's id as APNs gave it, base64")
    }

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let request = try request(arguments)
        let application = try await StoredApplication.load(id, arguments)
        let signature = try application.administratorSignature(sdkAppID: id).userSig
        let answer = try await PlainHTTPClient.request(
            request.method,
            arguments.text("url") ?? "http://127.0.0.1:8080",
            path: request.path,
            bearer: signature,
            body: request.body,
        )
        guard answer.status == 200 else {
            let error = (try? JSONDocument(parsing: answer.body))?.root["error"]
            let message = error?["message"]?.string ?? String(decoding: answer.body, as: UTF8.self)
            let place = error?["field"]?.string.map { message.hasPrefix($0) ? "" : "\($0): " } ?? ""
            let detail = error?["apns"].map { " " + String(decoding: $0.verbatim, as: UTF8.self) } ?? ""
            throw CommandFailure("\(place)\(message)\(detail)")
        }
        StandardOutput.write(String(decoding: answer.body, as: UTF8.self) + "\n")
    }

    /// The query of a request without a body.
    static func query(_ arguments: CommandArguments) throws -> String {
        let environment = try arguments.oneOf("environment", ["sandbox", "production"]).map { "&environment=\($0)" }
        return "?businessId=\(try arguments.requiredInteger("business-id"))\(environment ?? "")"
    }

    /// Begins a body with what all have.
    static func beginBody(_ arguments: CommandArguments) throws -> JSONWriter {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("businessId", try arguments.requiredInteger("business-id"))
        writer.member("environment", try arguments.oneOf("environment", ["sandbox", "production"]))
        return writer
    }

    static func path(_ arguments: CommandArguments) throws -> String {
        "/v1/channels/" + SendCommand.percentEncoded(try arguments.required("channel"))
    }
}

/// `livepush channel create`.
enum ChannelCreateCommand: ChannelCommand {
    static let name = "channel create"
    static let summary = "make a broadcast channel (iOS 18)"
    static let discussion = """
        Prints its id. Activities follow it that the app requests with pushType .channel(ID), or that a start with
        input-push-channel brings up. An app may have 10,000 in each environment: delete what is over.
        """
    static let options =
        place + [
            CommandOption(
                name: "storage",
                kind: .value("none|recent"),
                help:
                    "recent: APNs keeps the latest push for phones that are away, 8 hours at most; none: nothing, and the "
                    + "channel may send more often. It never changes",
            )
        ]

    static func request(_ arguments: CommandArguments) throws -> ChannelCommandRequest {
        guard let storage = try arguments.oneOf("storage", ["none", "recent"]) else {
            throw UsageError("--storage is needed: none or recent")
        }
        var writer = try beginBody(arguments)
        writer.member("storage", storage)
        writer.endObject()
        return ChannelCommandRequest(method: "POST", path: "/v1/channels", body: writer.bytes)
    }
}

/// `livepush channel read`.
enum ChannelReadCommand: ChannelCommand {
    static let name = "channel read"
    static let summary = "ask APNs what it knows of a broadcast channel"
    static let options = place + [channel]

    static func request(_ arguments: CommandArguments) throws -> ChannelCommandRequest {
        ChannelCommandRequest(method: "GET", path: try path(arguments) + query(arguments))
    }
}

/// `livepush channel list`.
enum ChannelListCommand: ChannelCommand {
    static let name = "channel list"
    static let summary = "ask APNs for all broadcast channels of a bundle id"
    static let options = place

    static func request(_ arguments: CommandArguments) throws -> ChannelCommandRequest {
        ChannelCommandRequest(method: "GET", path: "/v1/channels" + (try query(arguments)))
    }
}

/// `livepush channel delete`.
enum ChannelDeleteCommand: ChannelCommand {
    static let name = "channel delete"
    static let summary = "delete a broadcast channel, for good"
    static let discussion = """
        Activities that follow it get no more pushes; send an end first. One that is not there counts as deleted.
        """
    static let options = place + [channel]

    static func request(_ arguments: CommandArguments) throws -> ChannelCommandRequest {
        ChannelCommandRequest(method: "DELETE", path: try path(arguments) + query(arguments))
    }
}

/// `livepush channel send`.
enum ChannelSendCommand: ChannelCommand {
    static let name = "channel send"
    static let summary = "send an update or an end to all that follow a broadcast channel"
    static let discussion = """
        Prints what was sent, with every warning. APNs' acceptance proves no display. Nothing is repeated: a push that APNs did
        not take ends with exit code 1 and the reason.

        Dates are Unix seconds, ISO 8601 such as 2026-11-30T14:00:00Z, or from now on such as +15m (s, m, h).
        """
    static let options =
        place + [channel] + [
            CommandOption(name: "event", kind: .value("update|end"), help: "update if absent"),
            CommandOption(
                name: "attributes-type",
                kind: .value("NAME"),
                help:
                    "the ActivityAttributes type whose schema checks the state; if absent, the app's only one warns",
            ),
            CommandOption(
                name: "ttl",
                kind: .value("SECONDS"),
                help:
                    "how long APNs keeps the push for phones that are away, 28800 at most; 0: it tries once; 28800 if absent. "
                    + "A channel without storage sends 0 whatever is given",
            ),
        ]
        + PayloadOptions.all.filter {
            [
                "content-state", "content-state-file", "title", "title-loc-key", "title-loc-arg", "body",
                "body-loc-key",
                "body-loc-arg", "sound", "stale-date", "dismissal-date", "relevance-score", "priority",
            ].contains($0.name)
        }

    static func request(_ arguments: CommandArguments) throws -> ChannelCommandRequest {
        let reader = PayloadReader(arguments: arguments, now: Int64(time(nil)))
        let event = try arguments.oneOf("event", ["update", "end"]) ?? "update"
        let content = try reader.content(ActivityEvent(rawValue: event) ?? .update)
        var writer = try beginBody(arguments)
        writer.member("event", event)
        if !content.contentState.isEmpty {
            guard (try? JSONDocument(parsing: content.contentState)) != nil else {
                throw UsageError("--content-state: expected a JSON object")
            }
            writer.member("contentState", raw: content.contentState)
        }
        if let score = content.relevanceScore {
            guard (try? JSONDocument(parsing: score)) != nil else {
                throw UsageError("--relevance-score: expected a number")
            }
            writer.member("relevanceScore", raw: score)
        }
        writer.member("staleDate", content.staleDate)
        writer.member("dismissalDate", content.dismissalDate)
        if let alert = content.alert {
            writer.key("alert")
            writer.beginObject()
            for (name, text) in [("title", alert.title), ("body", alert.body)] {
                guard let text else { continue }
                writer.key(name)
                text.write(to: &writer)
            }
            writer.member("sound", alert.sound)
            writer.endObject()
        }
        writer.member("priority", try reader.integer("priority"))
        writer.member("attributesType", arguments.text("attributes-type"))
        writer.member("ttl", try arguments.integer("ttl"))
        writer.endObject()
        return ChannelCommandRequest(method: "POST", path: try path(arguments) + "/messages", body: writer.bytes)
    }
}
