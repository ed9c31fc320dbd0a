import ContentSchema
import VerbatimJSON

extension ActivitySchema {
    /// A schema whose ContentState has the fields of a JSON array; `types` are further members of the types' object.
    init(fields: String, attributes: String = "[]", types: String = "") throws {
        try self.init(
            parsing: Array(
                """
                {"format": 1, "attributesType": "RideAttributes", "attributes": "RideAttributes",
                 "contentState": "RideAttributes.ContentState", "types": {
                   "RideAttributes": {"fields": \(attributes)},
                   "RideAttributes.ContentState": {"fields": \(fields)}\(types.isEmpty ? "" : ", " + types)}}
                """.utf8
            )
        )
    }

    /// 2026-11-30T12:00:00Z.
    static let now: Int64 = 1_796_040_000

    func check(_ text: String, as part: Part = .contentState) throws -> ContentVerdict {
        self.check(try JSONDocument(parsing: Array(text.utf8)).root, as: part, now: Self.now)
    }
}
