/// Who is in a segment: an account with all its phones, or one of them.
public struct SegmentMember: Sendable, Equatable {
    /// The account.
    public var account: String
    /// The one phone that is in it; nil: all.
    public var installation: String?

    /// Makes a member that keeps the rules.
    public init(account: String, installation: String?) throws(RegistrationFault) {
        self.account = try RegistrationRules.account(account)
        self.installation = try installation.map { value throws(RegistrationFault) in
            try RegistrationRules.installation(value)
        }
    }

    /// The name of a segment that keeps the rules.
    public static func segment(_ name: String) throws(RegistrationFault) -> String {
        guard (1...128).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw RegistrationFault(.invalidValue, "the name of a segment has 1 to 128 bytes", field: "segment")
        }
        return name
    }
}

/// What the header of a file of members says.
struct SegmentColumns: Sendable, Equatable {
    /// Whether the second column is the installation.
    let namesInstallations: Bool

    /// Reads the header: `account`, or `account,installation`.
    init(_ header: CSVRecord?) throws(ImportError) {
        let rule = "the first line must name the columns: account, or account,installation"
        guard let header, case .success(let names) = header.fields else { throw ImportError(rule) }
        if let separator = names.otherSeparator { throw ImportError(separator: separator) }
        switch (0..<names.count).map({ String(decoding: names[$0], as: UTF8.self) }) {
        case ["account"]: namesInstallations = false
        case ["account", "installation"]: namesInstallations = true
        default: throw ImportError(rule)
        }
    }

    /// Why a line names no member. Holds nothing of it.
    struct LineFault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// The member that a line names. An empty installation stands for all phones.
    func member(of record: CSVRecord) throws(LineFault) -> SegmentMember {
        let fields: CSVRecord.Fields
        switch record.fields {
        case .success(let read): fields = read
        case .failure(let fault): throw LineFault(description: "\(fault)")
        }
        guard fields.count == (namesInstallations ? 2 : 1) else {
            throw LineFault(description: "\(fields.count) fields, not \(namesInstallations ? 2 : 1)")
        }
        let account = try text(fields[0])
        let installation = namesInstallations ? try text(fields[1]) : ""
        do {
            return try SegmentMember(account: account, installation: installation.isEmpty ? nil : installation)
        } catch {
            throw LineFault(description: error.message)
        }
    }

    private func text(_ bytes: ArraySlice<UInt8>) throws(LineFault) -> String {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw LineFault(description: "it is not UTF-8, or holds a NUL")
        }
        return text
    }
}
