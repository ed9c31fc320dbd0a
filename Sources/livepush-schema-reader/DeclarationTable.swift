import SwiftSyntax

/// All types that some files declare, and the rules by which a name finds one.
final class DeclarationTable {
    private let conditions: CompilationConditions
    private var top: [String: TypeDeclaration] = [:]
    /// Look-ups that are under way inside of each other.
    private var lookups = 0
    /// In the order of the source.
    private(set) var all: [TypeDeclaration] = []
    /// Conditions around whole declarations that could not be decided.
    private(set) var undecided: [(condition: ExprSyntax, file: SourceFile)] = []
    /// Those of them around extensions that may say how a type is decoded.
    private(set) var undecidedDecoding: [(condition: ExprSyntax, file: SourceFile)] = []
    /// Extensions of types that were not read, such as those of the standard library.
    private(set) var foreignExtensions: [(node: ExtensionDeclSyntax, file: SourceFile)] = []

    init(files: [SourceFile], conditions: CompilationConditions) {
        self.conditions = conditions
        var extensions: [(ExtensionDeclSyntax, SourceFile)] = []
        for file in files {
            for declaration in self.topLevel(file.syntax.statements, in: file) {
                if let node = declaration.as(ExtensionDeclSyntax.self) {
                    extensions.append((node, file))
                } else {
                    self.add(declaration, to: nil, file)
                }
            }
        }
        // An extension may extend a type that another one declares.
        var waiting = extensions
        while true {
            let rest = waiting.filter { !self.add($0.0, $0.1) }
            guard rest.count < waiting.count else {
                // A type of these files may be named with their module.
                self.foreignExtensions = rest.filter { !self.add($0.0, $0.1, isModuleNamed: true) }
                    .map { (node: $0.0, file: $0.1) }
                return
            }
            waiting = rest
        }
    }

    // MARK: - Gathering

    private func topLevel(_ statements: CodeBlockItemListSyntax, in file: SourceFile) -> [DeclSyntax] {
        var declarations: [DeclSyntax] = []
        for statement in statements {
            guard case .decl(let declaration) = statement.item else { continue }
            guard let block = declaration.as(IfConfigDeclSyntax.self) else {
                declarations.append(declaration)
                continue
            }
            do {
                guard case .statements(let inner)? = try self.conditions.activeClause(of: block)?.elements else {
                    continue
                }
                declarations += self.topLevel(inner, in: file)
            } catch {
                self.undecided.append((error.condition, file))
                let text = block.trimmedDescription
                if text.contains("extension "), text.contains("CodingKey") || text.contains("init(from") {
                    self.undecidedDecoding.append((error.condition, file))
                }
            }
        }
        return declarations
    }

    private func members(
        _ list: MemberBlockItemListSyntax,
        of type: TypeDeclaration,
        in file: SourceFile,
    ) -> [DeclSyntax] {
        var declarations: [DeclSyntax] = []
        for item in list {
            guard let block = item.decl.as(IfConfigDeclSyntax.self) else {
                declarations.append(item.decl)
                continue
            }
            do {
                guard case .decls(let inner)? = try self.conditions.activeClause(of: block)?.elements else { continue }
                declarations += self.members(inner, of: type, in: file)
            } catch {
                type.undecided.append((error.condition, file))
            }
        }
        return declarations
    }

    private func add(_ declaration: DeclSyntax, to parent: TypeDeclaration?, _ file: SourceFile) {
        guard let type = Self.type(declaration, parent, file) else { return }
        self.all.append(type)
        if let parent {
            if parent.nested[type.name] == nil { parent.nested[type.name] = type }
        } else if let other = self.top[type.name] {
            // Private ones of several files; a problem only for whoever means one of them.
            other.namesake = type
        } else {
            self.top[type.name] = type
        }
        if let group = declaration.asProtocol((any DeclGroupSyntax).self) {
            type.inherited += (group.inheritanceClause?.inheritedTypes ?? []).map { ($0.type, file) }
            type.members = self.members(group.memberBlock.members, of: type, in: file)
            for member in type.members { self.add(member, to: type, file) }
        }
    }

    /// False if the type that it extends is not there (yet).
    private func add(_ node: ExtensionDeclSyntax, _ file: SourceFile, isModuleNamed: Bool = false) -> Bool {
        let parts = node.extendedType.trimmedDescription.split(separator: ".").dropFirst(isModuleNamed ? 1 : 0)
        guard let type = self.declaration(named: parts.joined(separator: "."), from: nil) else { return false }
        type.inherited += (node.inheritanceClause?.inheritedTypes ?? []).map { ($0.type, file) }
        let members = self.members(node.memberBlock.members, of: type, in: file)
        type.extensionMembers += members.map { ($0, file) }
        for member in members { self.add(member, to: type, file) }
        return true
    }

    private static func type(
        _ declaration: DeclSyntax,
        _ parent: TypeDeclaration?,
        _ file: SourceFile,
    ) -> TypeDeclaration? {
        let kind: TypeDeclaration.Kind
        let name: TokenSyntax
        var generics: GenericParameterClauseSyntax?
        let attributes: AttributeListSyntax
        if let node = declaration.as(StructDeclSyntax.self) {
            (kind, name, generics, attributes) = (.structure, node.name, node.genericParameterClause, node.attributes)
        } else if let node = declaration.as(EnumDeclSyntax.self) {
            (kind, name, generics, attributes) = (.enumeration, node.name, node.genericParameterClause, node.attributes)
        } else if let node = declaration.as(ClassDeclSyntax.self) {
            (kind, name, generics, attributes) =
                (.reference("class"), node.name, node.genericParameterClause, node.attributes)
        } else if let node = declaration.as(ActorDeclSyntax.self) {
            (kind, name, generics, attributes) =
                (.reference("actor"), node.name, node.genericParameterClause, node.attributes)
        } else if let node = declaration.as(ProtocolDeclSyntax.self) {
            (kind, name, attributes) = (.typeProtocol, node.name, node.attributes)
        } else if let node = declaration.as(TypeAliasDeclSyntax.self) {
            (kind, name, generics, attributes) =
                (.alias(node.initializer.value), node.name, node.genericParameterClause, node.attributes)
        } else {
            return nil
        }
        return TypeDeclaration(
            kind: kind,
            name: name.plainName,
            node: declaration,
            file: file,
            parent: parent,
            isGeneric: generics != nil,
            attributes: attributes,
        )
    }

    // MARK: - Finding

    /// The declaration that a name, dots included, means inside a type, typealiases as such.
    func declaration(named name: String, from scope: TypeDeclaration?) -> TypeDeclaration? {
        // A typealias that leads to itself never ends.
        guard self.lookups < 32 else { return nil }
        self.lookups += 1
        defer { self.lookups -= 1 }
        let parts = name.split(separator: ".").map { part in
            part.hasPrefix("`") ? String(part.dropFirst().dropLast()) : String(part)
        }
        guard let first = parts.first else { return nil }
        var found: TypeDeclaration?
        if first == "Self" {
            found = scope
        } else {
            var around = scope
            while let current = around, found == nil {
                let isOuter = current.name == first && current.parent == nil
                found = self.nested(first, in: current) ?? (isOuter ? current : nil)
                around = current.parent
            }
            found = found ?? self.top[first]
        }
        for part in parts.dropFirst() {
            guard let outer = found.flatMap({ self.resolvingAliases($0) }) else { return nil }
            found = self.nested(part, in: outer)
        }
        return found
    }

    private func nested(_ name: String, in type: TypeDeclaration) -> TypeDeclaration? {
        type.nested[name]
    }

    /// What a chain of typealiases ends at, if that is a declared type.
    func resolvingAliases(_ type: TypeDeclaration, depth: Int = 0) -> TypeDeclaration? {
        guard case .alias(let target) = type.kind else { return type }
        guard depth < 32, let next = self.declaration(named: target.trimmedDescription, from: type.parent) else {
            return nil
        }
        return next === type ? nil : self.resolvingAliases(next, depth: depth + 1)
    }

    /// The names of all protocols and other types that a type names behind its colon, those of declared protocols and
    /// typealiases followed to their end.
    func conformances(of type: TypeDeclaration) -> Set<String> {
        var names: Set<String> = []
        for (inherited, _) in type.inherited {
            self.collect(inherited, from: type, into: &names, depth: 0)
        }
        return names
    }

    /// The declared protocols that a type conforms to, those above them included.
    func protocols(of type: TypeDeclaration) -> [TypeDeclaration] {
        let names = self.conformances(of: type)
        return self.all.filter { declared in
            if case .typeProtocol = declared.kind { names.contains(declared.name) } else { false }
        }
    }

    private func collect(_ syntax: TypeSyntax, from scope: TypeDeclaration, into names: inout Set<String>, depth: Int) {
        guard depth < 32 else { return }
        if let composition = syntax.as(CompositionTypeSyntax.self) {
            for element in composition.elements {
                self.collect(element.type, from: scope, into: &names, depth: depth + 1)
            }
            return
        }
        if let attributed = syntax.as(AttributedTypeSyntax.self) {
            return self.collect(attributed.baseType, from: scope, into: &names, depth: depth + 1)
        }
        let name = syntax.trimmedDescription
        if let declared = self.declaration(named: name, from: scope) {
            switch declared.kind {
            case .alias(let target):
                return self.collect(target, from: declared.parent ?? scope, into: &names, depth: depth + 1)
            case .typeProtocol:
                names.insert(declared.name)
                for (inherited, _) in declared.inherited {
                    self.collect(inherited, from: declared, into: &names, depth: depth + 1)
                }
                return
            default:
                break
            }
        }
        let modules = ["Swift.", "Foundation.", "ActivityKit."]
        names.insert(modules.first(where: name.hasPrefix).map { String(name.dropFirst($0.count)) } ?? name)
    }
}

extension ExtensionDeclSyntax {
    /// What it extends, without its module and generic arguments.
    var extendedName: String {
        let name = self.extendedType.trimmedDescription.prefix { $0 != "<" }
        return name.hasPrefix("Swift.") ? String(name.dropFirst("Swift.".count)) : String(name)
    }
}
