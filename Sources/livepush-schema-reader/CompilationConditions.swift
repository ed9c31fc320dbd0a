import SwiftSyntax

/// Decides `#if` as for a release build for an iPhone.
struct CompilationConditions {
    /// Flags that are set, as with `swiftc -D`.
    let flags: Set<String>
    /// Flags that are known not to be set.
    let absentFlags: Set<String>

    /// The clause that is compiled; nil if none is.
    ///
    /// - Throws: the condition that cannot be decided.
    func activeClause(of block: IfConfigDeclSyntax) throws(UndecidedCondition) -> IfConfigClauseSyntax? {
        for clause in block.clauses {
            guard let condition = clause.condition else { return clause }
            guard let isTrue = self.value(of: condition) else { throw UndecidedCondition(condition: condition) }
            if isTrue { return clause }
        }
        return nil
    }

    private func value(of condition: ExprSyntax) -> Bool? {
        if let literal = condition.as(BooleanLiteralExprSyntax.self) {
            return literal.literal.tokenKind == .keyword(.true)
        }
        if let name = condition.as(DeclReferenceExprSyntax.self) {
            let flag = name.baseName.text
            if self.flags.contains(flag) { return true }
            return self.absentFlags.contains(flag) ? false : nil
        }
        if let negation = condition.as(PrefixOperatorExprSyntax.self), negation.operator.text == "!" {
            return self.value(of: negation.expression).map { !$0 }
        }
        if let tuple = condition.as(TupleExprSyntax.self), tuple.elements.count == 1, let inner = tuple.elements.first {
            return self.value(of: inner.expression)
        }
        if let call = condition.as(FunctionCallExprSyntax.self) { return self.value(of: call) }
        if let sequence = condition.as(SequenceExprSyntax.self) { return self.value(of: Array(sequence.elements)[...]) }
        return nil
    }

    private func value(of call: FunctionCallExprSyntax) -> Bool? {
        let argument = call.arguments.first?.expression.trimmedDescription ?? ""
        switch call.calledExpression.trimmedDescription {
        case "os": return argument == "iOS"
        case "canImport": return !["AppKit", "WatchKit", "Glibc", "Musl", "WinSDK", "Cocoa"].contains(argument)
        case "targetEnvironment": return false
        case "arch": return argument == "arm64"
        // Whatever builds Live Activities is newer than what anybody asks for.
        case "swift", "compiler": return argument.hasPrefix(">")
        case "hasFeature", "hasAttribute": return nil
        default: return nil
        }
    }

    /// `a || b && c`: the parser leaves the order of operators to its caller.
    private func value(of elements: ArraySlice<ExprSyntax>) -> Bool? {
        for operatorText in ["||", "&&"] {
            let split = elements.firstIndex { element in
                element.as(BinaryOperatorExprSyntax.self)?.operator.text == operatorText
            }
            guard let split else { continue }
            let left = self.value(of: elements[..<split])
            let right = self.value(of: elements[(split + 1)...])
            let decisive = operatorText == "||"
            if left == decisive || right == decisive { return decisive }
            return left == nil || right == nil ? nil : !decisive
        }
        guard elements.count == 1, let only = elements.first else { return nil }
        return self.value(of: only)
    }
}

/// A condition of `#if` depends on a flag that nobody has told.
struct UndecidedCondition: Error {
    let condition: ExprSyntax
}
