import VerbatimJSON

extension JSONValue {
    /// The value in one form: members in the order of their names, no white space, texts and numbers as they were written.
    var canonical: String {
        switch self.kind {
        case .object:
            let members = self.members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.canonical)" }
            return "{\(members.joined(separator: ","))}"
        case .array: return "[\(self.elements.map(\.canonical).joined(separator: ","))]"
        default: return String(decoding: self.verbatim, as: UTF8.self)
        }
    }
}

/// A JSON text in its one form.
func canonical(_ json: some Sequence<UInt8>) throws -> String {
    try JSONDocument(parsing: Array(json)).root.canonical
}
