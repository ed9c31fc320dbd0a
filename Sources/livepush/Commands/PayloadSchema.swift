import ContentSchema
import Gateway
import LiveActivity

/// The app's type by which `payload` checks a state, and the attributes of a start, as phones and gateway do.
struct PayloadSchema {
    private let schema: ActivitySchema

    static let options = [
        CommandOption(
            name: "schema",
            kind: .value("FILE"),
            help: "check the state by the app's type: its Swift source (FILE.swift), or the JSON of schema add",
        ),
        CommandOption(
            name: "schema-type",
            kind: .value("NAME"),
            help: "which ActivityAttributes type of a Swift file; needed if it has several",
        ),
    ]

    /// nil: none is asked for.
    init?(_ arguments: CommandArguments) throws {
        let type = arguments.text("schema-type")
        guard let path = arguments.text("schema") else {
            if type != nil { throw UsageError("--schema-type: needs --schema with a Swift file") }
            return nil
        }
        let json: [UInt8]
        if path.hasSuffix(".swift") {
            let words = [path] + (type.map { ["--type", $0] } ?? [])
            json = try SchemaReaderProcess.run(words, consequence: "nothing is checked")
        } else if type != nil {
            throw UsageError("--schema-type: a file that is not Swift holds one type")
        } else {
            json = try InputFile.read(path, option: "schema")
        }
        do throws(SchemaError) {
            schema = try ActivitySchema(parsing: json)
        } catch {
            throw CommandFailure("--schema: \(path): \(error)")
        }
    }

    /// What the type makes of the content: what a phone cannot decode, or shows at another date, is refused.
    func findings(in content: ActivityContent, now: Int64) -> [PayloadFinding] {
        let stored = StoredSchema(version: 1, fromAppVersion: nil, schema: schema)
        let check = ContentCheck(content, by: stored, now: now)
        var findings = check.misfits(under: ContentRules()).map { finding($0, .refusal) }
        findings += check.unknownMembers.map { finding($0, .warning) }
        if let type = content.start?.attributesType, !type.isEmpty, type != schema.attributesType {
            let message = "is not the type of the schema, \(schema.attributesType)"
            findings.append(.warning(.attributesType, .attributesTypeUnknown, message))
        }
        return findings
    }

    private func finding(_ notice: ContentNotice, _ severity: PayloadFinding.Severity) -> PayloadFinding {
        let code: PayloadFinding.Code =
            switch notice.code {
            case .unfit: .contentStateUnfit
            case .dateAsUnixSeconds: .dateAsUnixSeconds
            case .dateAsMilliseconds: .dateAsMilliseconds
            case .unknownMember: .unknownMember
            }
        let field: PayloadField =
            switch notice.part {
            case .contentState: .contentState
            case .attributes: .attributes
            }
        var finding = PayloadFinding.warning(field, path: notice.place, code, notice.message)
        finding.severity = severity
        return finding
    }
}
