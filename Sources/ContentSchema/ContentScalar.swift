/// A type of the standard library or Foundation that stands for one value, under the name it has in Swift source.
public enum ContentScalar: String, Sendable, CaseIterable {
    case bool = "Bool"
    case string = "String"
    /// 64 bits, as on every iPhone that shows Live Activities.
    case int = "Int"
    case int8 = "Int8"
    case int16 = "Int16"
    case int32 = "Int32"
    case int64 = "Int64"
    case int128 = "Int128"
    case uint = "UInt"
    case uint8 = "UInt8"
    case uint16 = "UInt16"
    case uint32 = "UInt32"
    case uint64 = "UInt64"
    case uint128 = "UInt128"
    case float = "Float"
    case double = "Double"
    case cgFloat = "CGFloat"
    case decimal = "Decimal"
    /// A number of seconds since 2001-01-01T00:00:00Z, as `JSONDecoder` has it unless told otherwise.
    case date = "Date"
    /// Base64 text.
    case data = "Data"
    case url = "URL"
    case uuid = "UUID"
    /// Two integers in an array: the upper and the lower half of a count of attoseconds.
    case duration = "Duration"
    /// Two numbers in an array: x, y.
    case cgPoint = "CGPoint"
    /// Two numbers in an array: width, height.
    case cgSize = "CGSize"
    /// A point and a size in an array.
    case cgRect = "CGRect"

    /// The type that a name in Swift source means, other names for the same type included; nil for any other name.
    ///
    /// - Parameter name: `Foundation.Date` and `Swift.Int` are understood as well.
    public init?(swiftName name: some StringProtocol) {
        var name = Substring(name)
        for module in ["Foundation.", "Swift.", "CoreGraphics.", "CoreFoundation."] where name.hasPrefix(module) {
            name = name.dropFirst(module.count)
        }
        switch name {
        case "TimeInterval", "Float64": self = .double
        case "Float32": self = .float
        default:
            guard let scalar = ContentScalar(rawValue: String(name)) else { return nil }
            self = scalar
        }
    }

    /// What fits into an integer type; nil for any other type.
    var integerRange: (lower: Int128, upper: UInt128)? {
        switch self {
        case .int, .int64: (Int128(Int64.min), UInt128(Int64.max))
        case .int8: (Int128(Int8.min), UInt128(Int8.max))
        case .int16: (Int128(Int16.min), UInt128(Int16.max))
        case .int32: (Int128(Int32.min), UInt128(Int32.max))
        case .int128: (Int128.min, UInt128(Int128.max))
        case .uint, .uint64: (0, UInt128(UInt64.max))
        case .uint8: (0, UInt128(UInt8.max))
        case .uint16: (0, UInt128(UInt16.max))
        case .uint32: (0, UInt128(UInt32.max))
        case .uint128: (0, UInt128.max)
        default: nil
        }
    }

    /// Whether `Range` and its kin can be checked over it.
    var isOrdered: Bool {
        switch self {
        case .float, .double, .cgFloat, .date, .string: true
        default: self.integerRange != nil
        }
    }
}
