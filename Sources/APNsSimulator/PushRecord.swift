import VerbatimJSON

/// One push as the simulator remembers it for who inspects it.
struct PushRecord {
    let request: PushRequest
    /// The number of the connection it came on, from 1.
    let connection: Int
    let providerToken: ProviderToken?
    var end: End
    /// The phone the push came to; nil if it came to none.
    let phone: String?
    let ignoredByPhone: Phone.Ignored?
    /// The broadcast channel that the request was about.
    var channel: String?
    /// The phones that a broadcast came to.
    var followers: [String]?
    /// The status where it was accepted.
    var acceptedStatus = 200

    /// How the push ended.
    enum End {
        case accepted
        case refused(Refusal)
        case dropped(DeclaredToken.Drop)
    }

    /// The text in the place of the device token, in lower case.
    var token: String {
        PushRequestCheck.token(inPath: request.path)?.lowercased() ?? ""
    }

    /// Writes the record as a JSON object. `payload` is the body byte for byte, or null if it is not JSON.
    func write(to writer: inout JSONWriter, index: Int) {
        writer.beginObject()
        writer.key("index")
        writer.integer(Int64(index))
        writer.key("receivedAt")
        writer.integer(request.time.milliseconds)
        writer.key("environment")
        writer.string(request.environment.rawValue)
        writer.key("connection")
        writer.integer(Int64(connection))
        writer.key("method")
        writer.string(request.method)
        writer.key("path")
        writer.string(request.path)
        writer.key("token")
        writer.string(token)
        writer.key("headers")
        writeHeaders(to: &writer)
        writer.key("bytes")
        writer.integer(Int64(request.bodyLength))
        writer.key("payload")
        if request.bodyLength == request.body.count, (try? JSONDocument(parsing: request.body)) != nil {
            writer.raw(request.body)
        } else {
            writer.null()
        }
        writeEnd(to: &writer)
        writer.member("phone", phone)
        writer.member("channel", channel)
        if let followers {
            writer.key("phones")
            writer.beginArray()
            for follower in followers {
                writer.string(follower)
            }
            writer.endArray()
        }
        if let ignoredByPhone {
            writer.key("ignoredByPhone")
            ignoredByPhone.write(to: &writer)
        }
        writer.endObject()
    }

    /// The provider token gives way to its claims: a record is not the place for something that can sign pushes. Values of
    /// repeated headers are joined with a comma.
    private func writeHeaders(to writer: inout JSONWriter) {
        var names: [String] = []
        var values: [String: String] = [:]
        for header in request.headers {
            if let earlier = values[header.name] {
                values[header.name] = earlier + ", " + header.value
            } else {
                names.append(header.name)
                values[header.name] = header.value
            }
        }
        writer.beginObject()
        for name in names {
            writer.key(name)
            if name != "authorization" {
                writer.string(values[name] ?? "")
            } else if let providerToken {
                writer.beginObject()
                writer.key("kid")
                writer.string(providerToken.keyID)
                writer.key("iss")
                writer.string(providerToken.teamID)
                writer.key("iat")
                writer.integer(Int64(exactly: providerToken.issuedAt.rounded(.down)) ?? 0)
                writer.endObject()
            } else {
                writer.null()
            }
        }
        writer.endObject()
    }

    private func writeEnd(to writer: inout JSONWriter) {
        switch end {
        case .accepted:
            writer.key("status")
            writer.integer(Int64(acceptedStatus))
        case .refused(let refusal):
            writer.key("status")
            writer.integer(Int64(refusal.status))
            writer.key("reason")
            writer.string(refusal.reason)
        case .dropped(let drop):
            writer.key("status")
            writer.null()
            writer.key("dropped")
            writer.string(drop.rawValue)
        }
    }
}
