import Glibc

/// One-dimensional arrays in PostgreSQL's binary form (`array_send`): a whole batch is one parameter, one buffer.
extension PostgresParameter {
    /// A `bigint[]`.
    public static func integers(_ values: [Int64]) -> PostgresParameter {
        array(of: .integer, as: .integers, count: values.count, elementBytes: 8) { encoder in
            for value in values {
                encoder.append(length: 8)
                encoder.append(UInt64(bitPattern: value))
            }
        }
    }

    /// A `bigint[]`, its nils as NULL.
    public static func integers(_ values: [Int64?]) -> PostgresParameter {
        array(of: .integer, as: .integers, count: values.count, elementBytes: 8) { encoder in
            for value in values {
                guard let value else {
                    encoder.appendNull()
                    continue
                }
                encoder.append(length: 8)
                encoder.append(UInt64(bitPattern: value))
            }
        }
    }

    /// An `integer[]`.
    public static func integers32(_ values: [Int32]) -> PostgresParameter {
        array(of: .integer32, as: .integers32, count: values.count, elementBytes: 4) { encoder in
            for value in values {
                encoder.append(length: 4)
                encoder.append(UInt32(bitPattern: value))
            }
        }
    }

    /// An `integer[]`, its nils as NULL.
    public static func integers32(_ values: [Int32?]) -> PostgresParameter {
        array(of: .integer32, as: .integers32, count: values.count, elementBytes: 4) { encoder in
            for value in values {
                guard let value else {
                    encoder.appendNull()
                    continue
                }
                encoder.append(length: 4)
                encoder.append(UInt32(bitPattern: value))
            }
        }
    }

    /// A `boolean[]`.
    public static func booleans(_ values: [Bool]) -> PostgresParameter {
        array(of: .boolean, as: .booleans, count: values.count, elementBytes: 1) { encoder in
            for value in values {
                encoder.append(length: 1)
                encoder.bytes.append(value ? 1 : 0)
            }
        }
    }

    /// A `boolean[]`, its nils as NULL.
    public static func booleans(_ values: [Bool?]) -> PostgresParameter {
        array(of: .boolean, as: .booleans, count: values.count, elementBytes: 1) { encoder in
            for value in values {
                guard let value else {
                    encoder.appendNull()
                    continue
                }
                encoder.append(length: 1)
                encoder.bytes.append(value ? 1 : 0)
            }
        }
    }

    /// A `text[]`, its nils as NULL. One text with U+0000 fails the whole unit with `invalidText`.
    public static func texts(_ values: [String?]) -> PostgresParameter {
        array(of: .text, as: .texts, count: values.count, elementBytes: 32) { encoder in
            for value in values {
                guard var value else {
                    encoder.appendNull()
                    continue
                }
                let isText = value.withUTF8 { bytes in
                    if let start = bytes.baseAddress, memchr(start, 0, bytes.count) != nil { return false }
                    encoder.append(length: bytes.count)
                    encoder.bytes.append(contentsOf: bytes)
                    return true
                }
                guard isText else {
                    encoder.refusal = .invalidText
                    return
                }
            }
        }
    }

    /// A `bytea[]`, its nils as NULL.
    public static func byteArrays(_ values: [[UInt8]?]) -> PostgresParameter {
        array(of: .bytes, as: .byteArrays, count: values.count, elementBytes: 64) { encoder in
            for value in values {
                guard let value else {
                    encoder.appendNull()
                    continue
                }
                encoder.append(length: value.count)
                encoder.bytes.append(contentsOf: value)
            }
        }
    }

    /// A `timestamptz[]` of microseconds since the Unix epoch, its nils as NULL. One time that PostgreSQL cannot hold
    /// fails the whole unit with `parameterOutOfRange`.
    public static func timestamps(_ values: [Int64?]) -> PostgresParameter {
        array(of: .timestamp, as: .timestamps, count: values.count, elementBytes: 8) { encoder in
            for value in values {
                guard let value else {
                    encoder.appendNull()
                    continue
                }
                guard let microseconds = postgresMicroseconds(value) else {
                    encoder.refusal = .parameterOutOfRange
                    return
                }
                encoder.append(length: 8)
                encoder.append(UInt64(bitPattern: microseconds))
            }
        }
    }

    private static func array(
        of element: PostgresType,
        as type: PostgresType,
        count: Int,
        elementBytes: Int,
        _ appendElements: (inout ArrayEncoder) -> Void,
    ) -> PostgresParameter {
        var encoder = ArrayEncoder()
        encoder.bytes.reserveCapacity(20 + count * (4 + elementBytes))
        // An empty array has no dimension at all: one of length 0 would be another value to PostgreSQL.
        encoder.append(UInt32(count == 0 ? 0 : 1))
        // The server works out itself whether there are NULLs and ignores this flag.
        encoder.append(UInt32(0))
        encoder.append(element.rawValue)
        if count > 0 {
            encoder.append(length: count)
            encoder.append(UInt32(1))
        }
        appendElements(&encoder)
        if let refusal = encoder.refusal {
            return PostgresParameter(type, .refused(refusal))
        }
        return PostgresParameter(type, .bytes(encoder.bytes))
    }
}

private struct ArrayEncoder {
    var bytes: [UInt8] = []
    var refusal: PostgresError.Kind?

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(length: Int) {
        guard let length = Int32(exactly: length) else {
            refusal = .parameterOutOfRange
            return
        }
        append(length)
    }

    mutating func appendNull() {
        append(Int32(-1))
    }
}
