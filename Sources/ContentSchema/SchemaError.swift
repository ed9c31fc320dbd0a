/// A schema cannot be read or makes no sense; says where and why.
public struct SchemaError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A sentence for people, with the place in the schema's JSON in front where there is one.
    public let description: String

    /// - Parameter description: a sentence for people.
    public init(_ description: String) {
        self.description = description
    }
}
