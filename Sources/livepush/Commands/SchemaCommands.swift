import ContentSchema
import PostgresClient

extension CommandOption {
    fileprivate static let attributesType = CommandOption(
        name: "type",
        kind: .value("NAME"),
        help: "the ActivityAttributes type",
    )
    fileprivate static let fromAppVersion = CommandOption(
        name: "from-app-version",
        kind: .value("VERSION"),
        help: "first version of the iOS app that has this; absent: every version for which no other schema counts",
    )
}

/// `livepush schema import`.
enum SchemaImportCommand: Command {
    static let name = "schema import"
    static let summary = "read an app's ActivityAttributes type from its Swift source"
    static let discussion = """
        FILE is the Swift source that declares a type conforming to ActivityAttributes. What Swift decodes of its
        ContentState, and of the attributes themselves, is stored as the type's next version, and each content-state is
        checked by it before it is pushed. What cannot be read is named with its line and column, and nothing is stored.

        A device is checked by the version whose --from-app-version is the newest that is not newer than its app. What a
        new version breaks for senders of the one before is told.

        Runs livepush-schema-reader, which lies beside livepush and needs a Swift toolchain. On a machine without one:
        livepush-schema-reader FILE > schema.json elsewhere, and here livepush schema add schema.json.
        """
    static let operands = ["FILE"]
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID,
        CommandOption(name: "type", kind: .value("NAME"), help: "which type, if the file has several"),
        CommandOption.fromAppVersion,
        CommandOption(name: "with", kind: .values("FILE"), help: "a file with types that FILE uses; repeatable"),
        CommandOption(
            name: "define",
            kind: .values("FLAG"),
            help: "a flag the app is compiled with, for #if; repeatable",
        ),
        CommandOption(name: "undefine", kind: .values("FLAG"), help: "a flag it is compiled without; repeatable"),
        CommandOption(
            name: "any",
            kind: .values("NAME"),
            help: "a type that decodes itself: whatever stands for it is taken; repeatable",
        ),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let path = try arguments.requiredOperand("FILE")
        let id = try arguments.requiredInteger("sdk-app-id")
        let version = try arguments.appVersion()
        let url = try arguments.required("database-url")
        let source = try InputFile.read(path, option: nil)
        let options =
            (arguments.text("type").map { ["--type", $0] } ?? [])
            + arguments.texts("define").flatMap { ["--define", $0] }
            + arguments.texts("undefine").flatMap { ["--undefine", $0] }
            + arguments.texts("any").flatMap { ["--any", $0] }
        let json = try SchemaReaderProcess.run([path] + arguments.texts("with") + options)
        let schema = try ActivitySchema(parsing: json)
        let file = path.split(separator: "/").last.map(String.init) ?? path
        try await SchemaAddition(
            schema: schema,
            sdkAppID: id,
            fromAppVersion: version,
            source: SchemaTable.Source(file: file, bytes: source),
        ).run(url)
    }
}

/// `livepush schema add`.
enum SchemaAddCommand: Command {
    static let name = "schema add"
    static let summary = "store a schema that is written as JSON"
    static let discussion = """
        FILE is what livepush-schema-reader writes and `livepush schema show` prints; - reads standard input. It can be
        written by hand for types whose source cannot be read:

          {"format": 1, "attributesType": "RideAttributes",
           "attributes": "RideAttributes", "contentState": "RideAttributes.ContentState",
           "types": {
             "RideAttributes": {"fields": [{"key": "rideNumber", "type": "Int"}]},
             "RideAttributes.ContentState": {"fields": [
               {"key": "eta", "type": "Date?"}, {"key": "phase", "type": "Phase"}, {"key": "leg", "type": "Leg"}]},
             "Phase": {"rawType": "String", "rawValues": ["waiting", "driving"]},
             "Leg": {"cases": [{"key": "walk"}, {"key": "train", "fields": [{"key": "_0", "type": "String"}]}]}}}

        key is the name in JSON. A type is written as in Swift; a member may be absent only if its type is optional.
        {"anything": true} in place of "fields" takes whatever stands there, for a type that decodes itself.
        """
    static let operands = ["FILE"]
    static let options = [CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.fromAppVersion]

    static func run(_ arguments: CommandArguments) async throws {
        let path = try arguments.requiredOperand("FILE")
        let id = try arguments.requiredInteger("sdk-app-id")
        let version = try arguments.appVersion()
        let url = try arguments.required("database-url")
        let schema: ActivitySchema
        do {
            schema = try ActivitySchema(parsing: try InputFile.read(path, option: nil))
        } catch let error as SchemaError {
            throw CommandFailure("\(path): \(error)")
        }
        try await SchemaAddition(schema: schema, sdkAppID: id, fromAppVersion: version, source: nil).run(url)
    }
}

/// Stores a schema and tells what it means for senders.
private struct SchemaAddition: Sendable {
    let schema: ActivitySchema
    let sdkAppID: Int64
    let fromAppVersion: String?
    let source: SchemaTable.Source?

    func run(_ url: String) async throws {
        let lines = try await DatabaseSession.run(url) { _, connection in
            let versions = try await SchemaTable.versions(of: schema.attributesType, sdkAppID, in: connection)
            if let last = versions.last, last.schema == schema, last.fromAppVersion == fromAppVersion {
                return ["\(schema.attributesType) is the same as version \(last.version); nothing is stored."]
            }
            let version = try await SchemaTable.add(
                schema,
                to: sdkAppID,
                fromAppVersion: fromAppVersion,
                source: source,
                in: connection,
            )
            let scope = fromAppVersion.map { ", for app versions from \($0) on" } ?? ""
            var lines = [
                "\(schema.attributesType) is stored as version \(version)\(scope). Running gateways follow within 5 seconds."
            ]
            guard let last = versions.last else { return lines }
            lines += SchemaDifferences.lines(from: last, to: schema, version: version)
            if fromAppVersion == nil, let other = versions.last(where: { $0.fromAppVersion != nil }) {
                lines.append(
                    "App versions from \(other.fromAppVersion ?? "") on are still checked by version \(other.version): "
                        + "--from-app-version tells where this one begins."
                )
            }
            return lines
        }
        StandardOutput.write(lines.map { $0 + "\n" }.joined())
    }
}

/// What `schema diff` and the import tell.
private enum SchemaDifferences {
    static func lines(from old: SchemaTable.Row, to new: ActivitySchema, version: Int64) -> [String] {
        let differences = old.schema.differences(to: new)
        guard !differences.isEmpty else { return ["What version \(old.version) took, version \(version) takes."] }
        let breaks = differences.contains { $0.effect == .breaks }
        return [
            breaks
                ? "Some of what version \(old.version) took, version \(version) refuses:"
                : "Version \(version) takes what version \(old.version) took, and differs in:"
        ] + differences.map { "  \($0)" }
    }
}

/// `livepush schema list`.
enum SchemaListCommand: Command {
    static let name = "schema list"
    static let summary = "list the schemas"
    static let options = [CommandOption.databaseURL]

    static func run(_ arguments: CommandArguments) async throws {
        let url = try arguments.required("database-url")
        let lines = try await DatabaseSession.run(url) { _, connection in
            let result = try await connection.run(
                PostgresStatement(
                    """
                    SELECT format('%s  %s  version %s  %s  %s  added %s', sdk_app_id, attributes_type, version,
                        coalesce('app versions from ' || from_app_version, 'other app versions'),
                        coalesce('read from ' || source_file, 'given as JSON'),
                        to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
                    FROM content_schema ORDER BY sdk_app_id, attributes_type, version
                    """
                )
            )
            return try result.rows.map { try $0.text(0) }
        }
        StandardOutput.write(lines.map { $0 + "\n" }.joined())
    }
}

/// `livepush schema show`.
enum SchemaShowCommand: Command {
    static let name = "schema show"
    static let summary = "print a schema as JSON"
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.attributesType,
        CommandOption(name: "version", kind: .value("N"), help: "which version; absent: the newest"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let rows = try await arguments.schemaVersions()
        let row = try arguments.schema("version", in: rows) ?? rows[rows.count - 1]
        StandardOutput.write(String(decoding: row.schema.json, as: UTF8.self) + "\n")
    }
}

/// `livepush schema diff`.
enum SchemaDiffCommand: Command {
    static let name = "schema diff"
    static let summary = "tell what a version of a schema changes for senders"
    static let discussion = """
        breaks: some of what fitted the older version is refused by the newer. widens: all of it is taken, and more.
        ignores: it is taken, and this member of it is ignored.
        """
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.attributesType,
        CommandOption(name: "from", kind: .value("N"), help: "the older version; absent: the one before the newer"),
        CommandOption(name: "to", kind: .value("N"), help: "the newer version; absent: the newest"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let rows = try await arguments.schemaVersions()
        let new = try arguments.schema("to", in: rows) ?? rows[rows.count - 1]
        guard let old = try arguments.schema("from", in: rows) ?? rows.last(where: { $0.version < new.version }) else {
            throw CommandFailure("there is no version before \(new.version)")
        }
        let lines = SchemaDifferences.lines(from: old, to: new.schema, version: new.version)
        StandardOutput.write(lines.map { $0 + "\n" }.joined())
    }
}

/// `livepush schema remove`.
enum SchemaRemoveCommand: Command {
    static let name = "schema remove"
    static let summary = "remove a version of a schema, or all of a type"
    static let options = [
        CommandOption.databaseURL, CommandOption.sdkAppID, CommandOption.attributesType,
        CommandOption(name: "version", kind: .value("N"), help: "which version"),
        CommandOption(name: "all", kind: .flag, help: "every version: the type is not checked any more"),
    ]

    static func run(_ arguments: CommandArguments) async throws {
        let id = try arguments.requiredInteger("sdk-app-id")
        let type = try arguments.required("type")
        let version = try arguments.integer("version", in: 1...Int64(Int32.max))
        guard (version == nil) == arguments.isSet("all") else { throw UsageError("--version or --all is needed") }
        let url = try arguments.required("database-url")
        let count = try await DatabaseSession.run(url) { _, connection in
            try await connection.run(
                PostgresStatement(
                    """
                    DELETE FROM content_schema WHERE sdk_app_id = $1::bigint AND attributes_type = $2::text
                        AND version = coalesce($3::bigint, version)
                    """,
                    [.integer(id), .text(type), .integer(version)],
                )
            ).affectedRows
        }
        guard count > 0 else { throw CommandFailure("there is no such schema") }
        StandardOutput.write("Removed: \(count). Running gateways follow within 5 seconds.\n")
    }
}

extension CommandArguments {
    fileprivate func appVersion() throws(UsageError) -> String? {
        guard let text = text("from-app-version") else { return nil }
        guard AppVersion(text) != nil else {
            throw UsageError("--from-app-version: expected a version such as 2.10, not '\(text)'")
        }
        return text
    }

    /// The versions of the type that --sdk-app-id and --type name; at least one.
    fileprivate func schemaVersions() async throws -> [SchemaTable.Row] {
        let id = try requiredInteger("sdk-app-id")
        let type = try required("type")
        let url = try required("database-url")
        let rows = try await DatabaseSession.run(url) { _, connection in
            try await SchemaTable.versions(of: type, id, in: connection)
        }
        guard !rows.isEmpty else { throw CommandFailure("app \(id) has no schema of \(type)") }
        return rows
    }

    fileprivate func schema(_ option: String, in rows: [SchemaTable.Row]) throws -> SchemaTable.Row? {
        guard let version = try integer(option, in: 1...Int64(Int32.max)) else { return nil }
        guard let row = rows.first(where: { $0.version == version }) else {
            throw CommandFailure("there is no version \(version)")
        }
        return row
    }
}
