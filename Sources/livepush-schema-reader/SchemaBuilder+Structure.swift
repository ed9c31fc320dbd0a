import ContentSchema
import SwiftParser
import SwiftSyntax

extension SchemaBuilder {
    /// A stored property that takes part in decoding.
    private struct StoredProperty {
        let name: String
        let type: ContentType
        let hasDefault: Bool
        let node: Syntax
    }

    func structure(_ type: TypeDeclaration) -> TypeDefinition? {
        var properties: [StoredProperty] = []
        var constants: Set<String> = []
        for member in type.members {
            guard let variable = member.as(VariableDeclSyntax.self) else { continue }
            self.read(variable, of: type, into: &properties, &constants)
        }
        if !self.table.conformances(of: type).isDisjoint(with: ["RawRepresentable", "OptionSet"]) {
            guard let raw = properties.first(where: { $0.name == "rawValue" }), case .scalar(let scalar) = raw.type,
                let rawType = RawType(scalar)
            else {
                self.problems.error(
                    "\(type.name) is RawRepresentable, but has no stored rawValue of type String, integer, Float or Double",
                    at: type.node,
                    in: type.file,
                )
                return nil
            }
            return .rawStructure(rawType)
        }
        guard let keys = self.codingKeys(named: "CodingKeys", in: type) else {
            if properties.isEmpty, constants.isEmpty { return .anything }
            return .structure(properties.map { ContentField(key: $0.name, type: $0.type) })
        }
        for property in properties where !property.hasDefault && !keys.contains(where: { $0.name == property.name }) {
            self.problems.error(
                "\(property.name) is missing in CodingKeys and has no default value",
                at: property.node,
                in: type.file,
            )
        }
        if keys.isEmpty { return .anything }
        // In the order of CodingKeys, which is the order of decoding.
        return .structure(
            keys.compactMap { key in
                guard let property = properties.first(where: { $0.name == key.name }) else {
                    if !constants.contains(key.name) {
                        self.problems.error(
                            "\(type.name) has no stored property \(key.name), which its CodingKeys name",
                            at: type.node,
                            in: type.file,
                        )
                    }
                    return nil
                }
                return ContentField(key: key.key, type: property.type)
            }
        )
    }

    private func read(
        _ variable: VariableDeclSyntax,
        of type: TypeDeclaration,
        into properties: inout [StoredProperty],
        _ constants: inout Set<String>,
    ) {
        let modifiers = variable.modifiers.map(\.name.text)
        guard !modifiers.contains("static"), !modifiers.contains("class") else { return }
        let bindings = Array(variable.bindings)
        guard !bindings.allSatisfy(\.isComputed) else { return }
        // Swift leaves what is computed later out of decoding.
        guard !modifiers.contains("lazy") else { return }
        for modifier in ["weak", "unowned"] where modifiers.contains(modifier) {
            self.problems.error("a \(modifier) property cannot be read", at: variable, in: type.file)
            return
        }
        for attribute in variable.attributes {
            guard case .attribute(let attribute) = attribute else {
                self.problems.error("attributes under #if cannot be read", at: attribute, in: type.file)
                continue
            }
            let name = attribute.attributeName.trimmedDescription
            guard !Self.harmlessAttributes.contains(name) else { continue }
            self.problems.error(
                "@\(name) is a property wrapper or a macro, which may change how the property is decoded and cannot be read",
                at: attribute,
                in: type.file,
            )
            return
        }
        let isConstant = variable.bindingSpecifier.tokenKind == .keyword(.let)
        for (index, binding) in bindings.enumerated() where !binding.isComputed {
            guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
                self.problems.error("only `var name: Type` can be read", at: binding, in: type.file)
                continue
            }
            let name = pattern.identifier.plainName
            if isConstant, binding.initializer != nil {
                // It has its value already; Swift leaves it out of decoding.
                constants.insert(name)
                continue
            }
            // `var a, b: Int`: the type of the last one holds for those before it.
            let annotation =
                binding.typeAnnotation
                ?? (binding.initializer == nil
                    ? bindings[index...].lazy.compactMap(\.typeAnnotation).first : nil)
            let read: ContentType?
            if let annotation {
                read = self.type(annotation.type, from: type, in: type.file)
            } else if let value = binding.initializer?.value {
                read = self.type(ofDefault: value, in: type)
                if read == nil {
                    self.problems.error(
                        "the type of \(name) cannot be told from its default value; write it: var \(name): Type = ...",
                        at: binding,
                        in: type.file,
                    )
                }
            } else {
                read = nil
                self.problems.error("\(name) has no type", at: binding, in: type.file)
            }
            guard let read else { continue }
            properties.append(
                StoredProperty(
                    name: name,
                    type: read,
                    hasDefault: binding.initializer != nil || (!isConstant && read.isOptional),
                    node: Syntax(binding),
                )
            )
        }
    }

    /// The type that Swift infers from a literal, from a call of an initializer or from a case; nil for anything else.
    private func type(ofDefault value: ExprSyntax, in type: TypeDeclaration) -> ContentType? {
        if value.is(IntegerLiteralExprSyntax.self) { return .scalar(.int) }
        if value.is(FloatLiteralExprSyntax.self) { return .scalar(.double) }
        if value.is(StringLiteralExprSyntax.self) { return .scalar(.string) }
        if value.is(BooleanLiteralExprSyntax.self) { return .scalar(.bool) }
        if let prefix = value.as(PrefixOperatorExprSyntax.self), prefix.operator.text == "-" {
            return self.type(ofDefault: prefix.expression, in: type)
        }
        if let sequence = value.as(SequenceExprSyntax.self) { return self.type(ofArithmetic: sequence, in: type) }
        if let tuple = value.as(TupleExprSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first {
            return self.type(ofDefault: only.expression, in: type)
        }
        if let dictionary = value.as(DictionaryExprSyntax.self), case .elements(let elements) = dictionary.content {
            let keys = elements.map { self.type(ofDefault: $0.key, in: type) }
            let values = elements.map { self.type(ofDefault: $0.value, in: type) }
            guard let first = keys.first, let key = first, let other = values.first, let value = other,
                keys.allSatisfy({ $0 == key }), values.allSatisfy({ $0 == value })
            else { return nil }
            return .dictionary(key: key, value: value)
        }
        if let array = value.as(ArrayExprSyntax.self) {
            let elements = array.elements.map { self.type(ofDefault: $0.expression, in: type) }
            guard let first = elements.first, let element = first, elements.allSatisfy({ $0 == element }) else {
                return nil
            }
            return .array(element)
        }
        if let call = value.as(FunctionCallExprSyntax.self) {
            if let array = call.calledExpression.as(ArrayExprSyntax.self), array.elements.count == 1,
                let element = array.elements.first
            {
                return self.type(named: element.expression, in: type).map { .array($0) }
            }
            if let member = call.calledExpression.as(MemberAccessExprSyntax.self), let base = member.base {
                if member.declName.baseName.text == "init" { return self.type(made: base, by: call, in: type) }
                return self.enumeration(base, hasCase: member.declName.baseName.plainName, in: type)
            }
            return self.type(made: call.calledExpression, by: call, in: type)
        }
        if let member = value.as(MemberAccessExprSyntax.self), let base = member.base {
            let name = member.declName.baseName.plainName
            if self.type(named: base, in: type) == .scalar(.date),
                ["now", "distantPast", "distantFuture"].contains(name)
            {
                return .scalar(.date)
            }
            return self.enumeration(base, hasCase: name, in: type)
        }
        return nil
    }

    /// `60 * 5`: a Double if a part of it is one, else an Int.
    private func type(ofArithmetic sequence: SequenceExprSyntax, in type: TypeDeclaration) -> ContentType? {
        var isDouble = false
        for (index, element) in sequence.elements.enumerated() {
            guard index.isMultiple(of: 2) else {
                guard let sign = element.as(BinaryOperatorExprSyntax.self)?.operator.text,
                    ["+", "-", "*", "/"].contains(sign)
                else { return nil }
                continue
            }
            switch self.type(ofDefault: element, in: type) {
            case .scalar(.int): continue
            case .scalar(.double): isDouble = true
            default: return nil
            }
        }
        return .scalar(isDouble ? .double : .int)
    }

    /// `Name` or `Name<...>` as an expression, if it is the name of a type.
    private func type(named expression: ExprSyntax, in type: TypeDeclaration) -> ContentType? {
        let name = expression.trimmedDescription
        if let declared = self.table.declaration(named: name, from: type) {
            guard !declared.isGeneric else { return nil }
            return self.named(name, expression, from: type, in: type.file, depth: 0)
        }
        guard let read = try? ContentType(parsing: name), case .scalar = read else { return nil }
        return read
    }

    /// What a call of an initializer makes; nil also where it makes an optional, such as `URL(string: "...")`, or may.
    private func type(made: ExprSyntax, by call: FunctionCallExprSyntax, in type: TypeDeclaration) -> ContentType? {
        guard let read = self.type(named: made, in: type) else { return nil }
        let labels = call.arguments.map { $0.label?.plainName ?? "_" }
        guard call.trailingClosure == nil, !labels.isEmpty else { return read }
        guard case .scalar(let scalar) = read else {
            guard labels != ["rawValue"],
                let named = self.table.declaration(named: made.trimmedDescription, from: type),
                let declared = self.table.resolvingAliases(named)
            else { return nil }
            let initializers = (declared.members + declared.extensionMembers.map(\.declaration))
                .compactMap { $0.as(InitializerDeclSyntax.self) }
            return initializers.contains { $0.optionalMark != nil } ? nil : read
        }
        let first = call.arguments.first?.expression
        let isNumber =
            first.map { $0.is(IntegerLiteralExprSyntax.self) || $0.is(FloatLiteralExprSyntax.self) } ?? false
        let neverFails: [String] =
            switch scalar {
            case .date:
                ["timeIntervalSinceNow", "timeIntervalSince1970", "timeIntervalSinceReferenceDate", "timeInterval"]
            case .string: ["describing", "repeating"]
            case .url: ["fileURLWithPath", "filePath"]
            case .data: ["count", "repeating"]
            default: []
            }
        return neverFails.contains(labels[0]) || (labels == ["_"] && isNumber) ? read : nil
    }

    private func enumeration(_ base: ExprSyntax, hasCase name: String, in type: TypeDeclaration) -> ContentType? {
        guard let named = self.table.declaration(named: base.trimmedDescription, from: type),
            let declared = self.table.resolvingAliases(named), case .enumeration = declared.kind,
            declared.caseElements.contains(where: { $0.name.plainName == name })
        else { return nil }
        return self.type(named: base, in: type)
    }

    // MARK: - Identities

    /// `Track.ID`, which Swift infers of an Identifiable type from its property `id`; nil if the name is no such thing.
    func identity(named name: String, from scope: TypeDeclaration?, depth: Int) -> ContentType? {
        guard name.hasSuffix(".ID"),
            let named = self.table.declaration(named: String(name.dropLast(".ID".count)), from: scope),
            let type = self.table.resolvingAliases(named), !type.isGeneric,
            self.table.conformances(of: type).contains("Identifiable")
        else { return nil }
        let members = type.members.map { ($0, type.file) } + type.extensionMembers.map { ($0.declaration, $0.file) }
        for (member, file) in members {
            guard let variable = member.as(VariableDeclSyntax.self), variable.bindings.count == 1,
                let binding = variable.bindings.first,
                binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainName == "id",
                !variable.modifiers.contains(where: { ["static", "class"].contains($0.name.text) })
            else { continue }
            if let annotation = binding.typeAnnotation {
                return self.type(annotation.type, from: type, in: file, depth: depth + 1)
            }
            return binding.initializer.flatMap { self.type(ofDefault: $0.value, in: type) }
        }
        return nil
    }

    // MARK: - Coding keys

    /// The names of a `CodingKeys` enum and what they stand for in JSON, in order; nil if there is none.
    func codingKeys(named name: String, in type: TypeDeclaration) -> [(name: String, key: String)]? {
        guard let keys = type.nested[name] else { return nil }
        guard case .enumeration = keys.kind else {
            self.problems.error(
                "\(name) of \(type.name) is not an enum, which cannot be read",
                at: keys.node,
                in: keys.file
            )
            return []
        }
        self.refuse(keys.undecided, asDeciding: type.name)
        let conformances = self.table.conformances(of: keys)
        guard conformances.contains("CodingKey") else { return nil }
        let isText = conformances.contains("String")
        var read: [(name: String, key: String)] = []
        for element in keys.caseElements {
            let caseName = element.name.plainName
            guard isText, let rawValue = element.rawValue else {
                read.append((caseName, caseName))
                continue
            }
            guard let text = rawValue.value.as(StringLiteralExprSyntax.self)?.representedLiteralValue else {
                self.problems.error("only a plain string can be read here", at: rawValue.value, in: keys.file)
                continue
            }
            read.append((caseName, text))
        }
        return read
    }
}

extension TypeDeclaration {
    /// The cases of an enum, in order.
    var caseElements: [EnumCaseElementSyntax] {
        self.members.compactMap { $0.as(EnumCaseDeclSyntax.self) }.flatMap { Array($0.elements) }
    }
}

extension ContentType {
    var isOptional: Bool {
        if case .optional = self { true } else { false }
    }
}

extension PatternBindingSyntax {
    /// Whether it has a getter; one that is only observed by willSet or didSet is stored.
    var isComputed: Bool {
        switch self.accessorBlock?.accessors {
        case nil: false
        case .getter: true
        case .accessors(let accessors):
            accessors.contains { !["willSet", "didSet"].contains($0.accessorSpecifier.text) }
        @unknown default: true
        }
    }
}
