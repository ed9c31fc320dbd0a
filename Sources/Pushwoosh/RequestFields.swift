import VerbatimJSON

/// An object of a request together with its place in it, so that a fault names the field. A field that is `null` counts as
/// absent, since clients write it for what they do not set.
struct RequestFields {
    /// The object itself.
    let object: JSONValue
    /// Names from the member `request` to the object, with dots; empty for `request` itself.
    let path: String

    /// The member `request` of a body.
    init(bodyOf bytes: [UInt8]) throws(PushwooshFault) {
        let root: JSONValue
        do {
            root = try JSONDocument(parsing: bytes).root
        } catch {
            throw PushwooshFault(.malformed, "the body is not strict JSON (\(error))")
        }
        guard let request = root["request"], request.kind == .object else {
            throw PushwooshFault(.malformed, "the body must be an object with an object request")
        }
        object = request
        path = ""
    }

    init(_ object: JSONValue, path: String) throws(PushwooshFault) {
        guard object.kind == .object else { throw PushwooshFault(path: path, "must be an object") }
        self.object = object
        self.path = path
    }

    subscript(name: String) -> JSONValue? {
        guard let value = object[name], value.kind != .null else { return nil }
        return value
    }

    /// The path of a field of this object.
    func path(of name: String) -> String {
        path.isEmpty ? name : path + "." + name
    }

    /// A fault of the field `name`.
    func fault(_ name: String, _ fault: String) -> PushwooshFault {
        PushwooshFault(path: path(of: name), fault)
    }

    /// A string, or nil if the field is absent.
    func string(_ name: String) throws(PushwooshFault) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw fault(name, "must be a string") }
        return text
    }

    /// A string that is not empty, or nil if it is, or the field is absent.
    func text(_ name: String) throws(PushwooshFault) -> String? {
        try string(name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A string that has more than blanks, or nil if it has not, or the field is absent.
    func words(_ name: String) throws(PushwooshFault) -> String? {
        try string(name).flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
    }

    /// A string that must be there and not be empty.
    func required(_ name: String) throws(PushwooshFault) -> String {
        guard let text = try text(name) else { throw fault(name, "is missing or empty") }
        return text
    }

    /// An integer, or nil if the field is absent.
    func integer(_ name: String) throws(PushwooshFault) -> Int64? {
        guard let value = self[name] else { return nil }
        guard let number = value.integer else { throw fault(name, "must be an integer") }
        return number
    }

    /// An object, or nil if the field is absent.
    func fields(_ name: String) throws(PushwooshFault) -> RequestFields? {
        guard let value = self[name] else { return nil }
        return try RequestFields(value, path: path(of: name))
    }

    /// Strings, or nil if the field is absent.
    func strings(_ name: String) throws(PushwooshFault) -> [String]? {
        guard let value = self[name] else { return nil }
        guard value.kind == .array else { throw fault(name, "must be an array") }
        var texts: [String] = []
        for (index, element) in value.elements.enumerated() {
            guard let text = element.string, !text.isEmpty else {
                throw PushwooshFault(path: "\(path(of: name))[\(index)]", "must be a string that is not empty")
            }
            texts.append(text)
        }
        return texts
    }
}
