import VerbatimJSON

/// An object of a request together with its place in the body, so that a fault names the field.
///
/// A field that is there with another type than the one asked for is a fault, `null` included.
struct RequestFields {
    /// The object itself.
    let object: JSONValue
    /// The code of a fault in it.
    let code: TencentError.Code
    /// Whether a string that holds an integer counts as that integer.
    let acceptsNumericStrings: Bool

    /// The root object of a body. One that is not strict JSON is refused with 90001 by every command.
    ///
    /// - Parameter code: of the faults of its fields.
    init(bodyOf bytes: [UInt8], code: TencentError.Code) throws(TencentError) {
        let root: JSONValue
        do {
            root = try JSONDocument(parsing: bytes).root
        } catch {
            throw TencentError(.body, "Fail to Parse json data of body, Please check it (\(error))")
        }
        guard root.kind == .object else {
            throw TencentError(.body, "Fail to Parse json data of body, Please check it (it must be an object)")
        }
        object = root
        self.code = code
        acceptsNumericStrings = false
    }

    /// - Throws: if `object` is no object.
    init(
        _ object: JSONValue,
        code: TencentError.Code,
        acceptsNumericStrings: Bool = false,
    ) throws(TencentError) {
        guard object.kind == .object else {
            throw TencentError(code, path: object.path, "must be an object")
        }
        self.object = object
        self.code = code
        self.acceptsNumericStrings = acceptsNumericStrings
    }

    subscript(name: String) -> JSONValue? {
        object[name]
    }

    /// The path of a field of this object.
    func path(of name: String) -> String {
        let path = object.path
        return path.isEmpty ? name : path + "." + name
    }

    /// A fault of the field `name`.
    func fault(_ name: String, _ fault: String, code: TencentError.Code? = nil) -> TencentError {
        TencentError(code ?? self.code, path: path(of: name), fault)
    }

    /// A string, or nil if the field is absent.
    func string(_ name: String) throws(TencentError) -> String? {
        guard let value = object[name] else { return nil }
        guard let text = value.string else { throw fault(name, "must be a string") }
        return text
    }

    /// An integer, or nil if the field is absent.
    func integer(_ name: String, code: TencentError.Code? = nil) throws(TencentError) -> Int64? {
        guard let value = object[name] else { return nil }
        guard let number = acceptsNumericStrings ? value.integerOrNumericString : value.integer else {
            throw fault(name, "must be an integer", code: code)
        }
        return number
    }

    /// An integer of `range`, or nil if the field is absent.
    func integer(
        _ name: String,
        in range: ClosedRange<Int64>,
        code: TencentError.Code? = nil,
    ) throws(TencentError) -> Int64? {
        guard let number = try integer(name, code: code) else { return nil }
        guard range.contains(number) else {
            throw fault(name, "must be \(range.lowerBound) to \(range.upperBound)", code: code)
        }
        return number
    }

    /// 0 or 1; 0 if the field is absent.
    func flag(_ name: String) throws(TencentError) -> Bool {
        guard let number = try integer(name) else { return false }
        guard number == 0 || number == 1 else { throw fault(name, "must be 0 or 1") }
        return number == 1
    }

    /// An object, or nil if the field is absent.
    func object(_ name: String) throws(TencentError) -> RequestFields? {
        guard let value = object[name] else { return nil }
        return try RequestFields(value, code: code, acceptsNumericStrings: acceptsNumericStrings)
    }

    /// An array's elements, or nil if the field is absent.
    func array(_ name: String) throws(TencentError) -> [JSONValue]? {
        guard let value = object[name] else { return nil }
        guard value.kind == .array else { throw fault(name, "must be an array") }
        return value.elements
    }

    /// An array's elements as objects, or nil if the field is absent.
    func objects(_ name: String) throws(TencentError) -> [RequestFields]? {
        guard let elements = try array(name) else { return nil }
        var objects: [RequestFields] = []
        objects.reserveCapacity(elements.count)
        for element in elements {
            objects.append(try RequestFields(element, code: code, acceptsNumericStrings: acceptsNumericStrings))
        }
        return objects
    }

    /// Checks that a field is an array of strings, if it is there.
    func checkStrings(_ name: String) throws(TencentError) {
        for element in try array(name) ?? [] where element.kind != .string {
            throw TencentError(code, path: element.path, "must be a string")
        }
    }
}
