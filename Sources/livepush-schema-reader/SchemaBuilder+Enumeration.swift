import ContentSchema
import SwiftParser
import SwiftSyntax

extension SchemaBuilder {
    func enumeration(_ type: TypeDeclaration) -> TypeDefinition? {
        guard !type.caseElements.isEmpty else {
            self.problems.error(
                "\(type.name) has no cases, so that nothing can be decoded as it",
                at: type.node,
                in: type.file
            )
            return nil
        }
        if let (rawType, isCodingKey) = self.rawType(of: type) {
            guard let rawType else { return nil }
            return .rawEnumeration(rawType, self.rawValues(of: type, rawType), isCodingKey: isCodingKey)
        }
        if self.table.conformances(of: type).contains("RawRepresentable") {
            self.problems.error(
                "\(type.name) is RawRepresentable by code of its own, which cannot be read",
                at: type.node,
                in: type.file,
            )
            return nil
        }
        let keys = self.codingKeys(named: "CodingKeys", in: type)
        return .enumeration(
            type.caseElements.compactMap { element in
                let name = element.name.plainName
                var key = name
                if let keys {
                    // A case without key cannot be decoded.
                    guard let listed = keys.first(where: { $0.name == name }) else { return nil }
                    key = listed.key
                }
                return ContentCase(key: key, fields: self.fields(of: element, in: type))
            }
        )
    }

    private func fields(of element: EnumCaseElementSyntax, in type: TypeDeclaration) -> [ContentField] {
        let name = element.name.plainName
        let keys = self.codingKeys(named: "\(name.prefix(1).uppercased())\(name.dropFirst())CodingKeys", in: type)
        var fields: [ContentField] = []
        for (index, parameter) in (element.parameterClause?.parameters ?? []).enumerated() {
            guard let read = self.type(parameter.type, from: type, in: type.file) else { continue }
            let label = parameter.firstName.map(\.plainName).flatMap { $0 == "_" ? nil : $0 } ?? "_\(index)"
            guard let keys else {
                fields.append(ContentField(key: label, type: read))
                continue
            }
            if let listed = keys.first(where: { $0.name == label }) {
                fields.append(ContentField(key: listed.key, type: read))
            } else if parameter.defaultValue == nil {
                self.problems.error("\(label) is missing in the coding keys of \(name)", at: parameter, in: type.file)
            }
        }
        return fields
    }

    /// The type before all protocols behind the colon; nil if the enum has none. Its first part is nil, with an error noted,
    /// if raw values of that type cannot be decoded.
    private func rawType(of type: TypeDeclaration) -> (rawType: RawType?, isCodingKey: Bool)? {
        guard case .enumeration = type.kind, let first = type.inherited.first else { return nil }
        var name = first.type.trimmedDescription
        var hops = 0
        while let declared = self.table.declaration(named: name, from: type), case .alias(let target) = declared.kind,
            hops < 32
        {
            name = target.trimmedDescription
            hops += 1
        }
        guard self.table.declaration(named: name, from: type) == nil else { return nil }
        guard let scalar = ContentScalar(swiftName: name) else {
            guard name == "Character" else { return nil }
            self.problems.error("an enum over Character cannot be decoded from JSON", at: first.type, in: first.file)
            return (nil, false)
        }
        guard let rawType = RawType(scalar) else {
            self.problems.error("\(name) is no raw type that can be read", at: first.type, in: first.file)
            return (nil, false)
        }
        return (rawType, self.table.conformances(of: type).contains("CodingKeyRepresentable"))
    }

    private func rawValues(of type: TypeDeclaration, _ rawType: RawType) -> [RawValue] {
        var values: [RawValue] = []
        var next: Int128 = 0
        for element in type.caseElements {
            let value: RawValue?
            if let written = element.rawValue?.value {
                value = Self.rawValue(written, rawType)
                if value == nil {
                    self.problems.error("this raw value cannot be read; only literals can", at: written, in: type.file)
                }
            } else if rawType.scalar == .string {
                value = .string(element.name.plainName)
            } else if rawType.scalar.isFloatingPoint {
                value = .double(Double(next))
            } else {
                value = .integer(next)
            }
            guard let value else { continue }
            values.append(value)
            switch value {
            case .string: break
            case .integer(let number): next = number &+ 1
            case .double(let number): next = Int128(exactly: number).map { $0 &+ 1 } ?? 0
            }
        }
        return values
    }

    private static func rawValue(_ expression: ExprSyntax, _ rawType: RawType) -> RawValue? {
        if let text = expression.as(StringLiteralExprSyntax.self) {
            return text.representedLiteralValue.map { .string($0) }
        }
        if let prefix = expression.as(PrefixOperatorExprSyntax.self), prefix.operator.text == "-" {
            switch Self.rawValue(prefix.expression, rawType) {
            case .integer(let number)?: return .integer(-number)
            case .double(let number)?: return .double(-number)
            default: return nil
            }
        }
        if let literal = expression.as(IntegerLiteralExprSyntax.self) {
            guard let number = Self.integer(literal) else { return nil }
            return rawType.scalar.isFloatingPoint ? .double(Double(number)) : .integer(number)
        }
        return expression.as(FloatLiteralExprSyntax.self)?.representedLiteralValue.map { .double($0) }
    }

    private static func integer(_ literal: IntegerLiteralExprSyntax) -> Int128? {
        let text = literal.literal.text.filter { $0 != "_" }
        for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where text.hasPrefix(prefix) {
            return Int128(text.dropFirst(prefix.count), radix: radix)
        }
        return Int128(text)
    }
}

extension ContentScalar {
    var isFloatingPoint: Bool {
        self == .float || self == .double
    }
}
