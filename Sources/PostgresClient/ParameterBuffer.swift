/// The parameters of one statement in the form libpq takes them. One buffer serves every statement of a connection,
/// since libpq copies the bytes into its own before it returns.
struct ParameterBuffer {
    private static let largestKept = 1 << 20

    private var bytes: [UInt8] = []
    private var offsets: [Int] = []
    private var types: [UInt32] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []
    private var pointers: [UnsafePointer<CChar>?] = []

    /// Replaces what was here by `parameters`, none of which may be refused.
    mutating func encode(_ parameters: [PostgresParameter]) {
        bytes.removeAll(keepingCapacity: bytes.capacity <= ParameterBuffer.largestKept)
        offsets.removeAll(keepingCapacity: true)
        types.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        for parameter in parameters {
            types.append(parameter.type.rawValue)
            let start = bytes.count
            switch parameter.value {
            case .null, .refused:
                offsets.append(-1)
                lengths.append(0)
                continue
            case .fixed(let bits, let length):
                for shift in stride(from: (length - 1) * 8, through: 0, by: -8) {
                    bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
                }
            case .text(let text):
                bytes.append(contentsOf: text.utf8)
            case .bytes(let value):
                bytes.append(contentsOf: value)
            }
            offsets.append(start)
            lengths.append(Int32(clamping: bytes.count - start))
        }
        // An empty value needs an address too: libpq takes a null pointer for NULL.
        bytes.append(0)
        while formats.count < parameters.count {
            formats.append(1)
        }
    }

    /// Calls `body` with the count and the arrays of types, values, lengths and formats, valid only during the call.
    mutating func withPointers<Result>(
        _ body: (
            Int32, UnsafePointer<UInt32>?, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?,
            UnsafePointer<Int32>?
        ) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { bytes in
            pointers.removeAll(keepingCapacity: true)
            for offset in offsets {
                let address = offset < 0 ? nil : bytes.baseAddress?.advanced(by: offset)
                pointers.append(address?.assumingMemoryBound(to: CChar.self))
            }
            return body(Int32(clamping: offsets.count), types, pointers, lengths, formats)
        }
    }
}
