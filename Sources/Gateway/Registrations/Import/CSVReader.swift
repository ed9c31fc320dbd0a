/// One record of a CSV file.
struct CSVRecord: Sendable, Equatable {
    /// The line it begins in, from 1.
    let line: Int64
    /// The contents of its fields, or why it has none.
    let fields: Result<Fields, CSVFault>

    /// The contents of fields, without quotes. Any bytes.
    struct Fields: Sendable, Equatable {
        fileprivate var bytes: [UInt8] = []
        fileprivate var ends: [Int] = []

        var count: Int { ends.count }

        /// What stands between the names of columns where it should be a comma; nil if nothing else does.
        var otherSeparator: String? {
            guard count == 1 else { return nil }
            if bytes.contains(UInt8(ascii: ";")) { return "semicolons" }
            return bytes.contains(UInt8(ascii: "\t")) ? "tabs" : nil
        }

        subscript(index: Int) -> ArraySlice<UInt8> {
            bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
        }
    }
}

/// Why a record cannot be read (RFC 4180, 2).
enum CSVFault: Error, Sendable, Equatable, CustomStringConvertible {
    case quoteInside
    case textAfterQuote
    case quoteOpen
    case carriageReturn
    case tooLong

    var description: String {
        switch self {
        case .quoteInside: "a quote stands inside of a field without quotes"
        case .textAfterQuote: "text stands between the closing quote of a field and the comma"
        case .quoteOpen: "a quoted field does not end"
        case .carriageReturn: "a carriage return stands outside of quotes and not at the end of the line"
        case .tooLong: "longer than \(CSVReader.maximumRecordBytes) bytes; perhaps a quote is missing"
        }
    }
}

/// Cuts the bytes of a CSV file (RFC 4180) into records, as they come, in bounded memory.
///
/// Lines end with CR LF or LF. A byte order mark at the beginning and empty lines are skipped. After a record that cannot
/// be read it goes on with the next line: a stray quote costs one line, not the rest of the file.
struct CSVReader: Sendable {
    /// The longest record.
    static let maximumRecordBytes = 16_384

    /// The line that the next record begins in, from 1.
    private(set) var line: Int64
    /// Where in the file it begins.
    private(set) var offset: Int64

    private var buffer: [UInt8] = []
    private var start = 0
    /// A record that cannot be read and whose line has not ended yet.
    private var unreadable: (line: Int64, fault: CSVFault)?

    /// - Parameters:
    ///   - line: the line to begin with.
    ///   - offset: where in the file that is.
    init(line: Int64 = 1, offset: Int64 = 0) {
        self.line = line
        self.offset = offset
    }

    /// Takes in what follows.
    mutating func append(_ bytes: [UInt8]) {
        buffer.removeFirst(start)
        start = 0
        buffer.append(contentsOf: bytes)
    }

    /// The next record.
    ///
    /// - Parameter isLast: nothing follows what was appended.
    /// - Returns: nil if more bytes are needed, or the end is reached.
    mutating func next(isLast: Bool) -> CSVRecord? {
        if offset == 0 {
            guard buffer.count >= 3 || isLast else { return nil }
            if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { consume(3) }
        }
        if unreadable != nil { return skipLine(isLast: isLast) }
        while start < buffer.count {
            let begin = line
            switch scan(isLast: isLast) {
            case .incomplete:
                return nil
            case .record(let fields, let length):
                consume(length)
                if fields.count == 1, fields.bytes.isEmpty, length <= 2 { continue }
                return CSVRecord(line: begin, fields: .success(fields))
            case .fault(let fault):
                unreadable = (begin, fault)
                return skipLine(isLast: isLast)
            }
        }
        return nil
    }

    /// Goes on to the next line, of what cannot be read.
    private mutating func skipLine(isLast: Bool) -> CSVRecord? {
        let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n"))
        consume((end ?? buffer.count - 1) + 1 - start)
        guard end != nil || isLast, let (line, fault) = unreadable else { return nil }
        unreadable = nil
        return CSVRecord(line: line, fields: .failure(fault))
    }

    private mutating func consume(_ length: Int) {
        for byte in buffer[start..<(start + length)] where byte == UInt8(ascii: "\n") {
            line += 1
        }
        start += length
        offset += Int64(length)
    }

    // MARK: - Scanning

    private enum Scan {
        case incomplete
        case record(CSVRecord.Fields, length: Int)
        case fault(CSVFault)
    }

    private func scan(isLast: Bool) -> Scan {
        let limit = min(buffer.count, start + CSVReader.maximumRecordBytes)
        var fields = CSVRecord.Fields()
        var index = start
        /// Where the bytes that can be looked at end before the record does.
        func stop(inQuotes: Bool) -> Scan {
            if limit < buffer.count || limit - start == CSVReader.maximumRecordBytes { return .fault(.tooLong) }
            guard isLast else { return .incomplete }
            return inQuotes ? .fault(.quoteOpen) : .record(fields, length: limit - start)
        }
        while true {
            if index < limit, buffer[index] == UInt8(ascii: "\"") {
                index += 1
                while true {
                    guard index < limit else { return stop(inQuotes: true) }
                    let byte = buffer[index]
                    index += 1
                    if byte == UInt8(ascii: "\"") {
                        guard index < limit, buffer[index] == byte else { break }
                        index += 1
                    }
                    fields.bytes.append(byte)
                }
            } else {
                let first = index
                while index < limit, !CSVReader.isSpecial(buffer[index]) { index += 1 }
                fields.bytes.append(contentsOf: buffer[first..<index])
                if index < limit, buffer[index] == UInt8(ascii: "\"") { return .fault(.quoteInside) }
            }
            fields.ends.append(fields.bytes.count)
            guard index < limit else { return stop(inQuotes: false) }
            switch buffer[index] {
            case UInt8(ascii: ","):
                index += 1
            case UInt8(ascii: "\n"):
                return .record(fields, length: index + 1 - start)
            case UInt8(ascii: "\r"):
                guard index + 1 < limit else {
                    // The last line of a file may end so, where its LF was cut off.
                    return stop(inQuotes: false)
                }
                guard buffer[index + 1] == UInt8(ascii: "\n") else { return .fault(.carriageReturn) }
                return .record(fields, length: index + 2 - start)
            default:
                return .fault(.textAfterQuote)
            }
        }
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\"")
    }
}
