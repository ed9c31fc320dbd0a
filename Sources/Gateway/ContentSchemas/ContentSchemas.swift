import ContentSchema

/// What the phones of an app decode, type by type and version by version, and what the app wants done with the rest.
public final class ContentSchemas: Sendable, Equatable {
    /// What becomes of a content-state that a phone cannot decode.
    public let rules: ContentRules
    /// By the name of the attributes type, each oldest first. Never empty.
    let types: [String: [StoredSchema]]

    /// - Parameters:
    ///   - rules: what becomes of a content-state that a phone cannot decode.
    ///   - types: by the name of the attributes type, each oldest first.
    /// - Returns: nil if there is no schema, so that nothing is checked.
    public init?(rules: ContentRules, types: [String: [StoredSchema]]) {
        let types = types.filter { !$0.value.isEmpty }
        guard !types.isEmpty else { return nil }
        self.rules = rules
        self.types = types
    }

    /// The version by which a phone decodes; nil: there is nothing to check by.
    ///
    /// - Parameters:
    ///   - attributesType: as the phone registered it; nil, from a phone that did not tell, means the app's only type
    ///     where it has one only.
    ///   - appVersion: as the phone registered it; one that is no version counts as not known.
    public func schema(attributesType: String?, appVersion: String?) -> StoredSchema? {
        let versions =
            if let attributesType { self.types[attributesType] } else {
                self.types.count == 1 ? self.types.values.first : nil
            }
        return versions?.version(for: appVersion.flatMap { AppVersion($0) })
    }

    /// All versions of a type, oldest first; empty: there is no schema of it.
    func versions(ofType attributesType: String) -> [StoredSchema] {
        self.types[attributesType] ?? []
    }

    /// All versions, oldest first, of each type in the order of their names.
    var versionsOfEachType: [[StoredSchema]] {
        self.types.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The newest version of each type, in the order of their names.
    var newest: [StoredSchema] {
        self.types.sorted { $0.key < $1.key }.compactMap { $0.value.last }
    }

    /// Whether both are the same reading of the same rows.
    public static func == (left: ContentSchemas, right: ContentSchemas) -> Bool {
        left === right
    }
}
