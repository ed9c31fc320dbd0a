public import ContentSchema

/// A version of an app's type as it is stored.
public struct StoredSchema: Sendable {
    /// Counts up within app and type.
    public let version: Int64
    /// First version of the iOS app that has it; nil: every one for which no other counts.
    public let fromAppVersion: AppVersion?
    /// How the type is decoded.
    public let schema: ActivitySchema

    /// - Parameters:
    ///   - version: counts up within app and type.
    ///   - fromAppVersion: first version of the iOS app that has it.
    ///   - schema: how the type is decoded.
    public init(version: Int64, fromAppVersion: AppVersion?, schema: ActivitySchema) {
        self.version = version
        self.fromAppVersion = fromAppVersion
        self.schema = schema
    }
}

extension Sequence<StoredSchema> {
    /// The version that an app of some version has: of those that begin at or before it the one that begins last, and of
    /// those that begin alike the newest. Where the app's version is not known, the newest of all.
    ///
    /// - Returns: nil if all begin later: nobody has told what so old an app decodes.
    public func version(for appVersion: AppVersion?) -> StoredSchema? {
        guard let appVersion else { return self.max { $0.version < $1.version } }
        return self.filter { schema in schema.fromAppVersion.map { $0 <= appVersion } ?? true }.max { left, right in
            switch (left.fromAppVersion, right.fromAppVersion) {
            case (nil, .some): true
            case (.some, nil): false
            case (let left?, let right?) where left != right: left < right
            default: left.version < right.version
            }
        }
    }
}
