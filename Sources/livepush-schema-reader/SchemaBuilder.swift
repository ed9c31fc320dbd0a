import ContentSchema
import SwiftSyntax

/// Follows an ActivityAttributes type through the declarations that it uses, and notes how each is decoded.
final class SchemaBuilder {
    let table: DeclarationTable
    let problems: SourceProblems
    private(set) var types: [String: TypeDefinition] = [:]
    private var started: Set<String> = []
    /// Names of types for which anything is taken.
    private let unread: [String]
    private var met: Set<String> = []

    /// - Parameter unread: names of types that are not to be read: whatever stands for one counts as decodable.
    init(table: DeclarationTable, problems: SourceProblems, unread: [String] = []) {
        self.table = table
        self.problems = problems
        self.unread = unread
    }

    /// Those of the types not to be read that are used nowhere.
    var unmetNames: [String] {
        self.problems.hasErrors ? [] : self.unread.filter { !self.met.contains($0) }
    }

    /// The schema; nil if problems were found.
    func schema(of attributes: TypeDeclaration) throws(SchemaError) -> ActivitySchema? {
        self.refuseOwnContainers()
        self.refuse(self.table.undecidedDecoding, asDeciding: "a type that an extension there extends")
        let attributesType = self.reference(to: attributes, at: attributes.node, in: attributes.file)
        guard let state = attributes.nested["ContentState"] else {
            self.problems.error(
                "\(attributes.name) has no ContentState here; if another file declares it, give that file as well",
                at: attributes.node,
                in: attributes.file,
            )
            return nil
        }
        let stateType =
            if case .alias(let target) = state.kind {
                self.type(target, from: state.parent, in: state.file)
            } else {
                self.reference(to: state, at: state.node, in: state.file)
            }
        guard !self.problems.hasErrors, let attributesType, let stateType else { return nil }
        return try ActivitySchema(
            attributesType: attributes.name,
            attributes: attributesType,
            contentState: stateType,
            types: self.types,
        )
    }

    // MARK: - Types

    /// What a type in the source means; nil, with an error noted, if it cannot be told.
    func type(_ syntax: TypeSyntax, from scope: TypeDeclaration?, in file: SourceFile, depth: Int = 0) -> ContentType? {
        guard depth < 64 else {
            self.problems.error("the type is nested too deep", at: syntax, in: file)
            return nil
        }
        func inner(_ syntax: TypeSyntax) -> ContentType? {
            self.type(syntax, from: scope, in: file, depth: depth + 1)
        }
        if let optional = syntax.as(OptionalTypeSyntax.self) {
            return inner(optional.wrappedType).map { .optional($0) }
        }
        if let optional = syntax.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
            return inner(optional.wrappedType).map { .optional($0) }
        }
        if let array = syntax.as(ArrayTypeSyntax.self) {
            return inner(array.element).map { .array($0) }
        }
        if let dictionary = syntax.as(DictionaryTypeSyntax.self) {
            guard let key = inner(dictionary.key), let value = inner(dictionary.value) else { return nil }
            return .dictionary(key: key, value: value)
        }
        if let tuple = syntax.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first,
            only.firstName == nil
        {
            return inner(only.type)
        }
        let name: String
        let arguments: GenericArgumentClauseSyntax?
        if let identifier = syntax.as(IdentifierTypeSyntax.self) {
            (name, arguments) = (identifier.name.plainName, identifier.genericArgumentClause)
        } else if let member = syntax.as(MemberTypeSyntax.self) {
            name = "\(member.baseType.trimmedDescription).\(member.name.plainName)"
            arguments = member.genericArgumentClause
        } else {
            self.problems.error(
                "\(syntax.trimmedDescription) is not decoded by any rule known here",
                at: syntax,
                in: file
            )
            return nil
        }
        if let arguments { return self.generic(name, arguments, syntax, from: scope, in: file, depth: depth) }
        return self.named(name, syntax, from: scope, in: file, depth: depth)
    }

    func named(
        _ name: String,
        _ syntax: some SyntaxProtocol,
        from scope: TypeDeclaration?,
        in file: SourceFile,
        depth: Int,
    ) -> ContentType? {
        if let declared = self.table.declaration(named: name, from: scope) {
            guard case .alias(let target) = declared.kind else {
                return self.reference(to: declared, at: syntax, in: file)
            }
            guard !declared.isGeneric else {
                self.problems.error("\(name) is generic, which cannot be read", at: syntax, in: file)
                return nil
            }
            return self.type(target, from: declared.parent, in: declared.file, depth: depth + 1)
        }
        if let scalar = ContentScalar(swiftName: name) { return .scalar(scalar) }
        if self.isUnread(name) {
            self.types[name] = .anything
            return .named(name)
        }
        let plainName = name.hasPrefix("Foundation.") ? String(name.dropFirst("Foundation.".count)) : name
        if let known = Self.knownTypes[plainName] {
            self.types[plainName] = known
            return .named(plainName)
        }
        if let identity = self.identity(named: name, from: scope, depth: depth) { return identity }
        let hint = self.table.undecided.first.map { undecided in
            " (what stands under #if \(undecided.condition.trimmedDescription) was not read; --define tells which flags are set)"
        }
        self.problems.error(
            "the type \(name) is not declared in what was read, and none whose decoding is known; if another file "
                + "declares it, give that file as well, or --any \(name) to take whatever stands there\(hint ?? "")",
            at: syntax,
            in: file,
        )
        return nil
    }

    private func generic(
        _ name: String,
        _ clause: GenericArgumentClauseSyntax,
        _ syntax: TypeSyntax,
        from scope: TypeDeclaration?,
        in file: SourceFile,
        depth: Int,
    ) -> ContentType? {
        if self.isUnread(name) {
            self.types[name] = .anything
            return .named(name)
        }
        guard self.table.declaration(named: name, from: scope) == nil else {
            self.problems.error("\(name) is generic, which cannot be read", at: syntax, in: file)
            return nil
        }
        var arguments: [ContentType] = []
        for argument in clause.arguments {
            guard case .type(let type) = argument.argument,
                let read = self.type(type, from: scope, in: file, depth: depth + 1)
            else { return nil }
            arguments.append(read)
        }
        do {
            return try ContentType(generic: name, arguments: arguments)
        } catch {
            self.problems.error("\(error)", at: syntax, in: file)
            return nil
        }
    }

    /// A declared type by its name, its definition read on the first time.
    private func reference(
        to declaration: TypeDeclaration,
        at node: some SyntaxProtocol,
        in file: SourceFile,
    ) -> ContentType? {
        let name = declaration.qualifiedName
        guard self.started.insert(name).inserted else { return .named(name) }
        if self.isUnread(name) || self.isUnread(declaration.name) {
            self.types[name] = .anything
            return .named(name)
        }
        if let namesake = declaration.namesake {
            self.problems.error(
                "\(name) is declared in \(namesake.file.name) as well",
                at: declaration.node,
                in: declaration.file
            )
        }
        if let definition = self.definition(of: declaration, usedAt: node, in: file) {
            self.types[name] = definition
        }
        return .named(name)
    }

    /// Whether a type is not to be read.
    private func isUnread(_ name: String) -> Bool {
        guard self.unread.contains(name) else { return false }
        self.met.insert(name)
        return true
    }

    // MARK: - Declarations

    /// Protocols that make a type one of attributes. Pushwoosh's SDK has one of its own above Apple's.
    static let attributesProtocols: Set<String> = ["ActivityAttributes", "PushwooshLiveActivityAttributes"]

    /// What Foundation declares, and Pushwoosh's SDK for members of such a type.
    private static let knownTypes: [String: TypeDefinition] = [
        "DateInterval": .structure([
            ContentField(key: "start", type: .scalar(.date)), ContentField(key: "duration", type: .scalar(.double)),
        ]),
        "PushwooshLiveActivityAttributeData": .structure([ContentField(key: "activityId", type: .scalar(.string))]),
        "PushwooshLiveActivityContentStateData": .anything,
    ]

    /// Attributes that change nothing about how a type, a property or a case is decoded.
    static let harmlessAttributes: Set<String> = [
        "available", "frozen", "MainActor", "objc", "objcMembers", "nonobjc", "dynamicMemberLookup", "dynamicCallable",
        "usableFromInline", "inlinable", "preconcurrency", "unchecked", "discardableResult", "Sendable", "backDeployed",
        "_spi", "_documentation", "IBInspectable",
    ]

    private func definition(
        of type: TypeDeclaration,
        usedAt node: some SyntaxProtocol,
        in file: SourceFile,
    ) -> TypeDefinition? {
        if case .reference(let word) = type.kind, word != "class" || !self.hasNoSuperclass(type) {
            let reason = word == "class" ? "may inherit from another class" : "is an \(word)"
            self.problems.error(
                "\(type.name) \(reason), and how it is decoded cannot be read",
                at: type.node,
                in: type.file
            )
            return nil
        }
        if case .typeProtocol = type.kind {
            self.problems.error("\(type.name) is a protocol; a value of it cannot be decoded", at: node, in: file)
            return nil
        }
        guard !type.isGeneric else {
            self.problems.error("\(type.name) is generic, which cannot be read", at: type.node, in: type.file)
            return nil
        }
        for attribute in type.attributes {
            guard case .attribute(let attribute) = attribute else { continue }
            let name = attribute.attributeName.trimmedDescription
            guard !Self.harmlessAttributes.contains(name) else { continue }
            self.problems.error(
                "@\(name) may change how \(type.name) is decoded, which cannot be read",
                at: attribute,
                in: type.file,
            )
        }
        if let macro = type.members.first(where: { $0.is(MacroExpansionDeclSyntax.self) }) {
            self.problems.error(
                "a macro may add members to \(type.name), which cannot be read",
                at: macro,
                in: type.file
            )
        }
        self.refuse(type.undecided, asDeciding: type.name)
        self.checkCodable(type)
        self.refuseCustomDecoding(of: type)
        return if case .enumeration = type.kind { self.enumeration(type) } else { self.structure(type) }
    }

    /// Whether all that stands behind the colon of a class is known to be a protocol: then it is decoded as a struct is.
    private func hasNoSuperclass(_ type: TypeDeclaration) -> Bool {
        let protocols = Self.plainProtocols.union(["Codable", "Decodable", "AnyObject", "ObservableObject"])
            .union(Self.attributesProtocols).union(self.table.protocols(of: type).map(\.name))
        return self.table.conformances(of: type).isSubset(of: protocols)
    }

    /// Protocols of Apple's that do not make a type Codable.
    private static let plainProtocols: Set<String> = [
        "Hashable", "Equatable", "Sendable", "Identifiable", "CaseIterable", "Comparable", "CustomStringConvertible",
        "CustomDebugStringConvertible", "Encodable", "RawRepresentable", "OptionSet", "SetAlgebra", "Error", "AppEnum",
        "CodingKeyRepresentable", "LosslessStringConvertible", "ExpressibleByStringLiteral", "Strideable",
    ]

    private func checkCodable(_ type: TypeDeclaration) {
        let conformances = self.table.conformances(of: type)
        let codable = Self.attributesProtocols.union(["Codable", "Decodable", "PushwooshLiveActivityContentState"])
        guard conformances.isDisjoint(with: codable) else { return }
        let unknown = conformances.filter { name in
            !Self.plainProtocols.contains(name) && ContentScalar(swiftName: name) == nil && name != "Character"
        }
        guard unknown.isEmpty else {
            self.problems.warning(
                "\(type.name) is taken for Codable because of \(unknown.sorted().joined(separator: ", ")), whose "
                    + "declaration was not read",
                at: type.node,
                in: type.file,
            )
            return
        }
        self.problems.error(
            "\(type.name) is not Codable here; if an extension in another file decodes it, that cannot be read",
            at: type.node,
            in: type.file,
        )
    }

    /// Containers by which Swift's synthesized decoding reads members; it takes a `decode` of the app's own for them.
    private static let containers: Set<String> = [
        "KeyedDecodingContainer", "KeyedDecodingContainerProtocol", "UnkeyedDecodingContainer",
        "SingleValueDecodingContainer", "Decoder",
    ]

    private func refuseOwnContainers() {
        for (node, file) in self.table.foreignExtensions where Self.containers.contains(node.extendedName) {
            for member in node.memberBlock.members {
                guard let function = member.decl.as(FunctionDeclSyntax.self),
                    ["decode", "decodeIfPresent"].contains(function.name.plainName)
                else { continue }
                self.problems.error(
                    "\(node.extendedName) gets a \(function.name.plainName) of its own, which may change how any property is "
                        + "decoded and cannot be read",
                    at: function,
                    in: file,
                )
            }
        }
    }

    /// Of these conditions nobody knows whether they hold.
    func refuse(_ conditions: [(condition: ExprSyntax, file: SourceFile)], asDeciding name: String) {
        for undecided in conditions {
            self.problems.error(
                "whether \(undecided.condition.trimmedDescription) is set decides how \(name) is decoded; "
                    + "--define FLAG sets a flag, --undefine FLAG tells that it is not set",
                at: undecided.condition,
                in: undecided.file,
            )
        }
    }

    private func refuseCustomDecoding(of type: TypeDeclaration) {
        let conformances = self.table.conformances(of: type)
        let inherited =
            self.table.protocols(of: type).flatMap(\.extensionMembers)
            + self.table.foreignExtensions.filter { node, _ in
                // What is Codable is Decodable.
                conformances.contains(node.extendedName) || ["Codable", "Decodable"].contains(node.extendedName)
            }.flatMap { node, file in node.memberBlock.members.map { (declaration: $0.decl, file: file) } }
        let members =
            type.members.map { ($0, type.file) }
            + (type.extensionMembers + inherited).map { ($0.declaration, $0.file) }
        for (member, file) in members {
            guard let initializer = member.as(InitializerDeclSyntax.self) else { continue }
            let parameters = initializer.signature.parameterClause.parameters
            guard parameters.count == 1, let parameter = parameters.first else { continue }
            let parameterType = parameter.type.trimmedDescription
            switch parameter.firstName.plainName {
            case "from" where parameterType.contains("Decoder"):
                self.problems.error(
                    "\(type.name) decodes itself with its own init(from:), which cannot be read; --any "
                        + "\(type.qualifiedName) takes whatever stands there; or write the schema as JSON (livepush schema "
                        + "add), or let Swift synthesize the decoding",
                    at: initializer,
                    in: file,
                )
            case "rawValue" where initializer.optionalMark != nil:
                self.problems.error(
                    "\(type.name) accepts raw values by its own init?(rawValue:), which cannot be read",
                    at: initializer,
                    in: file,
                )
            default:
                continue
            }
        }
    }
}
