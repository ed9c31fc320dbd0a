/// What the header of an import file says: which column is where.
struct ImportColumns: Sendable {
    /// Every column there can be, and the field under /v1 that it is.
    static let fields: [(column: String, field: String)] = [
        ("kind", "kind"), ("account", "account"), ("installation", "installation"), ("token", "token"),
        ("business_id", "businessId"), ("la_id", "laId"), ("environment", "environment"), ("os_version", "osVersion"),
        ("app_version", "appVersion"), ("language", "language"), ("notification_permission", "notificationPermission"),
        ("frequent_pushes_enabled", "frequentPushesEnabled"), ("attributes_type", "attributesType"),
        ("started_at", "startedAt"),
    ]
    private static let needed = ["kind", "account", "installation", "token", "business_id"]

    let count: Int
    private let places: [String: Int]

    /// Reads the header. Names stand in any order; an unknown one is an error, since it may be a known one misspelt.
    init(_ header: CSVRecord?) throws(ImportError) {
        guard let header else { throw ImportError("the file is empty; the first line must name the columns") }
        let names: CSVRecord.Fields
        switch header.fields {
        case .success(let fields): names = fields
        case .failure(let fault): throw ImportError("the first line cannot be read: \(fault)")
        }
        if let separator = names.otherSeparator { throw ImportError(separator: separator) }
        var places: [String: Int] = [:]
        for index in 0..<names.count {
            let name = String(decoding: names[index], as: UTF8.self)
            guard let field = Self.fields.first(where: { $0.column == name })?.field else {
                throw ImportError(
                    "column \(index + 1)\(Self.shown(name)) is unknown; the first line must name the columns out of: "
                        + Self.fields.map(\.column).joined(separator: ", ")
                )
            }
            guard places.updateValue(index, forKey: field) == nil else {
                throw ImportError("column \(index + 1) is a second \(name)")
            }
        }
        let missing = Self.needed.filter { name in
            !Self.fields.contains { $0.column == name && places[$0.field] != nil }
        }
        guard missing.isEmpty else { throw ImportError("no column \(missing.joined(separator: ", "))") }
        self.count = names.count
        self.places = places
    }

    /// The place of a field of /v1, nil if the file has no such column.
    subscript(field: String) -> Int? { places[field] }

    /// What a field of /v1 is called in the file.
    static func column(of field: String) -> String {
        fields.first { $0.field == field }?.column ?? field
    }

    /// A file without header begins with a token: only what looks like the name of a column is shown.
    private static func shown(_ name: String) -> String {
        let isName = name.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) || $0 == UInt8(ascii: "_")
        }
        return isName && (1...30).contains(name.utf8.count) ? " ('\(name)')" : ""
    }
}

/// Why a file cannot be imported. Holds nothing of its lines.
public struct ImportError: Error, Sendable, CustomStringConvertible {
    /// What is wrong.
    public let description: String

    init(_ description: String) {
        self.description = description
    }

    /// - Parameter separator: what stands between columns.
    init(separator: String) {
        self.init("\(separator) stand between the columns of the first line; between them there must be commas")
    }
}
