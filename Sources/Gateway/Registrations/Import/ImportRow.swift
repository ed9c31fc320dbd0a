/// The fields of one line of an import file. An empty one counts as absent.
struct ImportRow: RegistrationFields {
    let fields: CSVRecord.Fields
    let columns: ImportColumns

    func string(_ name: String) throws(RegistrationFault) -> String? {
        guard let place = columns[name] else { return nil }
        let bytes = fields[place]
        guard !bytes.isEmpty else { return nil }
        guard !bytes.contains(0) else { throw fault(.invalidValue, name, "holds U+0000") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw fault(.invalidValue, name, "is not UTF-8")
        }
        return text
    }

    func integer(_ name: String) throws(RegistrationFault) -> Int64? {
        guard let text = try string(name) else { return nil }
        guard let value = Int64(text) else { throw fault(.wrongType, name, "is a whole number") }
        return value
    }

    func boolean(_ name: String) throws(RegistrationFault) -> Bool? {
        switch try string(name) {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw fault(.wrongType, name, "is true or false")
        }
    }

    func spelling(of name: String) -> String {
        ImportColumns.column(of: name)
    }

    /// What the line registers.
    func line(now: UnixTime, businessIDs: Set<Int64>) throws(RegistrationFault) -> ImportLine {
        let kind = try required(try choice("kind") as ImportKind?, "kind")
        let account = try RegistrationRules.account(try required(try string("account"), "account"))
        let installation = try installation()
        let registration: ImportLine.Registration
        switch kind {
        case .device:
            registration = .device(try device(hasCertificate: businessIDs.contains))
        case .activity:
            let laID = try RegistrationRules.laID(try required(try string("laId"), "laId"), field: spelling(of: "laId"))
            registration = .activity(try activity(laID, now: now, hasCertificate: businessIDs.contains))
        case .start:
            let type = try RegistrationRules.startedType(
                try required(try string("attributesType"), "attributesType"),
                field: spelling(of: "attributesType"),
            )
            registration = .start(try startToken(type, hasCertificate: businessIDs.contains))
        }
        return ImportLine(account: account, installation: installation, registration: registration)
    }

    private func fault(_ kind: RegistrationFault.Kind, _ name: String, _ problem: String) -> RegistrationFault {
        let field = spelling(of: name)
        return RegistrationFault(kind, "\(field) \(problem)", field: field)
    }
}

/// What a line registers: the words in the column `kind`.
enum ImportKind: String, CaseIterable {
    case device
    case activity
    case start
}

/// A line that keeps all rules.
struct ImportLine: Sendable, Equatable {
    enum Registration: Sendable, Equatable {
        case device(DeviceRegistration)
        case activity(ActivityRegistration)
        case start(StartTokenRegistration)

        var kind: ImportKind {
            switch self {
            case .device: .device
            case .activity: .activity
            case .start: .start
            }
        }
    }

    var account: String
    var installation: String
    var registration: Registration
    /// A line before it in the same batch has its installation or token too, so that the order matters.
    var isInTurn = false
}
