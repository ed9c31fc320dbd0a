import VerbatimJSON

extension ControlAPI {
    /// `POST /tokens`.
    func declareToken(_ body: [UInt8]) throws(Fault) {
        let object = try ControlAPI.object(body)
        guard let token = DeviceToken(try ControlAPI.text("token", in: object)) else {
            throw Fault(message: "token is not hexadecimal for 32 to 256 bytes", field: "token")
        }
        let environments = try ControlAPI.environment(in: object).map { [$0] } ?? APNsEnvironment.allCases
        var declaration = DeclaredToken(
            environments: Set(environments),
            topic: try ControlAPI.optionalText("topic", in: object),
            behaviour: try behaviour(in: object),
        )
        try declarePhone(in: object, of: &declaration)
        guard apns.declare(token, declaration) else {
            throw Fault(
                status: 409,
                message: """
                    \(TokenTable.capacity) tokens or \(PhoneTable.declaredCapacity) phones are declared; DELETE /tokens \
                    first
                    """,
            )
        }
    }

    /// Whose token it is, and what of.
    private func declarePhone(in object: JSONValue, of declaration: inout DeclaredToken) throws(Fault) {
        declaration.phone = try ControlAPI.name("phone", in: object)
        declaration.activity = try ControlAPI.name("activity", in: object)
        declaration.attributesType = try ControlAPI.name("attributesType", in: object)
        declaration.channel = try ControlAPI.optionalText("channel", in: object)
        if let text = try ControlAPI.optionalText("kind", in: object) {
            guard let kind = DeclaredToken.Kind(rawValue: text) else {
                throw Fault(message: "kind is none of device, activity, start", field: "kind")
            }
            declaration.kind = kind
        } else if declaration.activity != nil || declaration.channel != nil {
            declaration.kind = .activity
        }
        if let seconds = try ControlAPI.count("startedAt", in: object) {
            guard seconds <= apns.clock().wholeSeconds + 86_400 else {
                throw Fault(message: "startedAt is more than a day ahead; seconds since 1970?", field: "startedAt")
            }
            declaration.startedAt = seconds
        }
        if let state = ControlAPI.present("contentState", in: object) {
            guard state.kind == .object, state.verbatim.count <= PushType.liveactivity.maximumPayload else {
                throw Fault(message: "contentState is not an object of at most 4096 bytes", field: "contentState")
            }
            declaration.contentState = Array(state.verbatim)
        }
        declaration.isDismissedByUser = try ControlAPI.flag("dismissed", in: object) ?? false
        declaration.allowsFrequentPushes = try ControlAPI.flag("frequentPushes", in: object)
    }

    /// `POST /keys`.
    func registerKey(_ body: [UInt8]) throws(Fault) {
        let object = try ControlAPI.object(body)
        let keyID = try ControlAPI.identifier("keyId", in: object)
        let teamID = try ControlAPI.identifier("teamId", in: object)
        var bundleIDs: Set<String>?
        if let topics = ControlAPI.present("topics", in: object) {
            let texts = topics.elements.compactMap(\.string)
            guard topics.kind == .array, texts.count == topics.elements.count else {
                throw Fault(message: "topics is not an array of bundle IDs", field: "topics")
            }
            bundleIDs = Set(texts)
        }
        let key = SigningKey(
            keyID: keyID,
            teamID: teamID,
            publicKey: try ControlAPI.text("publicKey", in: object),
            environment: try ControlAPI.environment(in: object),
            bundleIDs: bundleIDs,
        )
        guard let key else {
            throw Fault(message: "publicKey is not a PEM public key of the curve P-256", field: "publicKey")
        }
        guard apns.keys.register(key) else {
            throw Fault(status: 409, message: "\(SigningKeyTable.capacity) keys are registered")
        }
    }

    private func behaviour(in object: JSONValue) throws(Fault) -> DeclaredToken.Behaviour? {
        guard let behaviour = ControlAPI.present("behaviour", in: object) else { return nil }
        guard behaviour.kind == .object else { throw Fault(message: "behaviour is not an object", field: "behaviour") }
        let times = try ControlAPI.count("times", in: behaviour)
        if let text = try ControlAPI.optionalText("drop", in: behaviour) {
            guard let drop = DeclaredToken.Drop(rawValue: text) else {
                throw Fault(message: "drop is none of answer, stream, connection", field: "drop")
            }
            return DeclaredToken.Behaviour(outcome: .drop(drop), remaining: times)
        }
        guard let status = try ControlAPI.count("status", in: behaviour), (400...599).contains(status) else {
            throw Fault(message: "status is not 400 to 599", field: "status")
        }
        let refusal = Refusal(
            Int(status),
            try ControlAPI.text("reason", in: behaviour),
            timestamp: try timestamp(in: behaviour, status: status),
            retryAfter: try ControlAPI.count("retryAfter", in: behaviour),
        )
        return DeclaredToken.Behaviour(outcome: .refuse(refusal), remaining: times)
    }

    /// A 410 without a word about its timestamp has the time of the declaration; one with null has none.
    private func timestamp(in behaviour: JSONValue, status: Int64) throws(Fault) -> Int64? {
        guard behaviour["timestamp"] == nil, status == 410 else {
            return try ControlAPI.count("timestamp", in: behaviour)
        }
        return apns.clock().milliseconds
    }

    // MARK: - Fields

    private static func object(_ body: [UInt8]) throws(Fault) -> JSONValue {
        guard let document = try? JSONDocument(parsing: body), document.root.kind == .object else {
            throw Fault(message: "the body is not a JSON object")
        }
        return document.root
    }

    /// nil and null are the same to an optional field.
    private static func present(_ field: String, in object: JSONValue) -> JSONValue? {
        object[field].flatMap { $0.kind == .null ? nil : $0 }
    }

    private static func optionalText(_ field: String, in object: JSONValue) throws(Fault) -> String? {
        guard let value = present(field, in: object) else { return nil }
        guard let text = value.string, !text.isEmpty else {
            throw Fault(message: "\(field) is not a text", field: field)
        }
        return text
    }

    private static func text(_ field: String, in object: JSONValue) throws(Fault) -> String {
        guard let text = try optionalText(field, in: object) else {
            throw Fault(message: "\(field) is missing", field: field)
        }
        return text
    }

    private static func identifier(_ field: String, in object: JSONValue) throws(Fault) -> String {
        let text = try text(field, in: object)
        guard ProviderToken.isIdentifier(text) else {
            throw Fault(message: "\(field) is not ten capital letters and digits", field: field)
        }
        return text
    }

    /// A text of at most 64 bytes.
    private static func name(_ field: String, in object: JSONValue) throws(Fault) -> String? {
        let text = try optionalText(field, in: object)
        guard (text?.utf8.count ?? 0) <= 64 else { throw Fault(message: "\(field) has over 64 bytes", field: field) }
        return text
    }

    private static func flag(_ field: String, in object: JSONValue) throws(Fault) -> Bool? {
        guard let value = present(field, in: object) else { return nil }
        guard let flag = value.boolean else { throw Fault(message: "\(field) is not true or false", field: field) }
        return flag
    }

    private static func count(_ field: String, in object: JSONValue) throws(Fault) -> Int64? {
        guard let value = present(field, in: object) else { return nil }
        guard let number = value.integer, number >= 0 else {
            throw Fault(message: "\(field) is not an integer of 0 or more", field: field)
        }
        return number
    }

    /// nil for both.
    private static func environment(in object: JSONValue) throws(Fault) -> APNsEnvironment? {
        guard let text = try optionalText("environment", in: object), text != "both" else { return nil }
        guard let environment = APNsEnvironment(rawValue: text) else {
            throw Fault(message: "environment is none of production, sandbox, both", field: "environment")
        }
        return environment
    }
}
