import VerbatimJSON

extension ControlAPI {
    /// `POST /tokens`.
    func declareToken(_ body: [UInt8]) throws(Fault) {
        let object = try ControlAPI.object(body)
        guard let token = DeviceToken(try ControlAPI.text("token", in: object)) else {
            throw Fault(message: "token is not hexadecimal for 32 to 256 bytes", field: "token")
        }
        let environments = try ControlAPI.environment(in: object).map { [$0] } ?? APNsEnvironment.allCases
        let declaration = DeclaredToken(
            environments: Set(environments),
            topic: try ControlAPI.optionalText("topic", in: object),
            behaviour: try ControlAPI.behaviour(in: object),
        )
        guard apns.tokens.declare(token, declaration) else {
            throw Fault(status: 409, message: "\(TokenTable.capacity) tokens are declared; DELETE /tokens first")
        }
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

    private static func behaviour(in object: JSONValue) throws(Fault) -> DeclaredToken.Behaviour? {
        guard let behaviour = present("behaviour", in: object) else { return nil }
        guard behaviour.kind == .object else { throw Fault(message: "behaviour is not an object", field: "behaviour") }
        let times = try count("times", in: behaviour)
        if let text = try optionalText("drop", in: behaviour) {
            guard let drop = DeclaredToken.Drop(rawValue: text) else {
                throw Fault(message: "drop is none of answer, stream, connection", field: "drop")
            }
            return DeclaredToken.Behaviour(outcome: .drop(drop), remaining: times)
        }
        guard let status = try count("status", in: behaviour), (400...599).contains(status) else {
            throw Fault(message: "status is not 400 to 599", field: "status")
        }
        let refusal = Refusal(
            Int(status),
            try text("reason", in: behaviour),
            timestamp: try timestamp(in: behaviour, status: status),
            retryAfter: try count("retryAfter", in: behaviour),
        )
        return DeclaredToken.Behaviour(outcome: .refuse(refusal), remaining: times)
    }

    /// A 410 without a word about its timestamp has the time of the declaration; one with null has none.
    private static func timestamp(in behaviour: JSONValue, status: Int64) throws(Fault) -> Int64? {
        guard behaviour["timestamp"] == nil, status == 410 else { return try count("timestamp", in: behaviour) }
        return UnixTime.now.milliseconds
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
