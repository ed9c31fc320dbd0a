import SwiftSyntax

/// A struct, enum, class, protocol or typealias of the source, with what extensions add to it.
final class TypeDeclaration {
    enum Kind {
        case structure
        case enumeration
        case typeProtocol
        case alias(TypeSyntax)
        /// Class or actor.
        case reference(String)
    }

    let kind: Kind
    let name: String
    let node: DeclSyntax
    let file: SourceFile
    /// The type in which it stands; nil at the top of a file.
    private(set) weak var parent: TypeDeclaration?
    let isGeneric: Bool
    let attributes: AttributeListSyntax
    /// Members of the declaration itself.
    var members: [DeclSyntax] = []
    /// Members that extensions add.
    var extensionMembers: [(declaration: DeclSyntax, file: SourceFile)] = []
    /// What stands behind the colon, extensions' included.
    var inherited: [(type: TypeSyntax, file: SourceFile)] = []
    var nested: [String: TypeDeclaration] = [:]
    /// Another one of the same name in another file.
    var namesake: TypeDeclaration?
    /// Conditions around members that could not be decided.
    var undecided: [(condition: ExprSyntax, file: SourceFile)] = []

    init(
        kind: Kind,
        name: String,
        node: DeclSyntax,
        file: SourceFile,
        parent: TypeDeclaration?,
        isGeneric: Bool,
        attributes: AttributeListSyntax,
    ) {
        self.kind = kind
        self.name = name
        self.node = node
        self.file = file
        self.parent = parent
        self.isGeneric = isGeneric
        self.attributes = attributes
    }

    /// The name with those of the types around it, such as `RideAttributes.ContentState`.
    var qualifiedName: String {
        self.parent.map { "\($0.qualifiedName).\(self.name)" } ?? self.name
    }
}

extension TokenSyntax {
    /// A name without the backticks that let a keyword be one.
    var plainName: String {
        let text = self.text
        guard text.count > 2, text.hasPrefix("`"), text.hasSuffix("`") else { return text }
        return String(text.dropFirst().dropLast())
    }
}
