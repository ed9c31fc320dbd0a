import LiveActivity

/// The fields of a registration as they come: members of a JSON object, columns of a file. The rules are the same for all,
/// and are here. Fields are asked for by their names under /v1.
public protocol RegistrationFields {
    /// The text of a field; nil if it is absent.
    func string(_ name: String) throws(RegistrationFault) -> String?

    /// The whole number in a field; nil if it is absent.
    func integer(_ name: String) throws(RegistrationFault) -> Int64?

    /// Whether a field says true; nil if it is absent.
    func boolean(_ name: String) throws(RegistrationFault) -> Bool?

    /// What the field is called where it comes from.
    func spelling(of name: String) -> String
}

extension RegistrationFields {
    /// The name under /v1.
    public func spelling(of name: String) -> String { name }

    // MARK: - By kind

    /// A device as these fields register it.
    public func device(hasCertificate: (Int64) -> Bool) throws(RegistrationFault) -> DeviceRegistration {
        DeviceRegistration(
            token: try token(),
            businessID: try businessID(hasCertificate: hasCertificate),
            environment: try choice("environment"),
            osVersion: try text("osVersion", limit: 64),
            appVersion: try text("appVersion", limit: 64),
            language: try text("language", limit: 64),
            notificationPermission: try choice("notificationPermission"),
            frequentPushesEnabled: try boolean("frequentPushesEnabled"),
            sequence: try sequence(),
        )
    }

    /// An activity as these fields register it.
    public func activity(
        _ laID: String,
        now: UnixTime,
        hasCertificate: (Int64) -> Bool,
    ) throws(RegistrationFault) -> ActivityRegistration {
        ActivityRegistration(
            laID: laID,
            token: try token(),
            businessID: try businessID(hasCertificate: hasCertificate),
            environment: try choice("environment"),
            attributesType: try text("attributesType", limit: 128),
            appVersion: try text("appVersion", limit: 64),
            startedAt: try startedAt(now: now),
            frequentPushesEnabled: try boolean("frequentPushesEnabled"),
            sequence: try sequence(),
        )
    }

    /// A push-to-start token as these fields register it.
    public func startToken(
        _ attributesType: String,
        hasCertificate: (Int64) -> Bool,
    ) throws(RegistrationFault) -> StartTokenRegistration {
        StartTokenRegistration(
            attributesType: attributesType,
            token: try token(),
            businessID: try businessID(hasCertificate: hasCertificate),
            environment: try choice("environment"),
            osVersion: try text("osVersion", limit: 64),
            appVersion: try text("appVersion", limit: 64),
            sequence: try sequence(),
        )
    }

    /// The installation that registers.
    public func installation() throws(RegistrationFault) -> String {
        let field = spelling(of: "installation")
        return try RegistrationRules.installation(required(try string("installation"), "installation"), field: field)
    }

    // MARK: - By type

    /// A value that must be there.
    public func required<Value>(_ value: Value?, _ name: String) throws(RegistrationFault) -> Value {
        guard let value else { throw fault(.missing, name, "is missing") }
        return value
    }

    /// One of a few words; nil if the field is absent.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String
    ) throws(RegistrationFault) -> Choice? {
        guard let text = try string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw fault(.invalidValue, name, "is one of: \(choices)")
        }
        return choice
    }

    /// An empty text counts as absent: it says as little, and must not clear what is known.
    private func text(_ name: String, limit: Int) throws(RegistrationFault) -> String? {
        guard let text = try string(name), !text.isEmpty else { return nil }
        guard text.utf8.count <= limit else {
            throw fault(.invalidValue, name, "has more than \(limit) bytes")
        }
        return text
    }

    // MARK: - By meaning

    private func token() throws(RegistrationFault) -> PushToken {
        let text = try required(try string("token"), "token")
        do throws(PushTokenError) {
            return try PushToken(parsing: text)
        } catch {
            throw RegistrationFault(.invalidToken, "\(error)", field: spelling(of: "token"))
        }
    }

    private func businessID(hasCertificate: (Int64) -> Bool) throws(RegistrationFault) -> Int64 {
        let businessID = try required(try integer("businessId"), "businessId")
        guard hasCertificate(businessID) else {
            let field = spelling(of: "businessId")
            let message = "the app has no certificate with \(field) \(businessID)"
            throw RegistrationFault(.unknownBusinessID, message, field: field)
        }
        return businessID
    }

    private func sequence() throws(RegistrationFault) -> Int64? {
        guard let sequence = try integer("sequence") else { return nil }
        guard sequence >= 0 else {
            throw RegistrationFault(.invalidValue, RegistrationRules.sequence, field: spelling(of: "sequence"))
        }
        return sequence
    }

    /// Unix seconds. What `Date` encodes to by default, or a JavaScript clock, would end an activity long before or
    /// after its time.
    private func startedAt(now: UnixTime) throws(RegistrationFault) -> UnixTime? {
        guard let seconds = try integer("startedAt") else { return nil }
        let problem: String
        switch UnixSecondsCheck.classify(seconds, now: now.seconds) {
        case .plausible where seconds > 0: return UnixTime(seconds: seconds)
        case .plausible: problem = "is 0, when nothing started"
        case .milliseconds(let likely): problem = "looks like milliseconds, \(likely) is likely"
        case .referenceDate(let likely): problem = "looks like seconds since 2001, \(likely) is likely"
        case .negative: problem = "is negative"
        }
        throw fault(.invalidValue, "startedAt", "is in Unix seconds; this \(problem)")
    }

    private func fault(_ kind: RegistrationFault.Kind, _ name: String, _ problem: String) -> RegistrationFault {
        let field = spelling(of: name)
        return RegistrationFault(kind, "\(field) \(problem)", field: field)
    }
}
