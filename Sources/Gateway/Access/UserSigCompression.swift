import CZlib

/// The zlib layer (RFC 1950) of a UserSig.
enum UserSigCompression {
    /// No generator comes near it; without a limit a few kilobytes could inflate to gigabytes.
    static let maximumInflatedBytes = 8192

    /// The bytes that `input` holds; nil where it is damaged, cut short, followed by something, or inflates to more
    /// than 8 KiB.
    ///
    /// A stream may lack its final block and checksum if it ends with a sync flush, as Go's generator leaves it.
    static func inflate(_ input: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return nil }
        defer { inflateEnd(&stream) }
        var input = input
        var output = [UInt8](repeating: 0, count: maximumInflatedBytes)
        let (result, unread, unused) = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = uInt(clamping: source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = uInt(target.count)
                let result = CZlib.inflate(&stream, Z_SYNC_FLUSH)
                return (result, stream.avail_in, Int(stream.avail_out))
            }
        }
        let isWhole = result == Z_STREAM_END || result == Z_OK && unused > 0 && endsWithSyncFlush(input)
        guard isWhole, unread == 0 else { return nil }
        return Array(output.dropLast(unused))
    }

    /// `input` as a zlib stream.
    static func deflate(_ input: [UInt8]) -> [UInt8] {
        var count = compressBound(uLong(input.count))
        var output = [UInt8](repeating: 0, count: Int(count))
        let result = compress(&output, &count, input, uLong(input.count))
        precondition(result == Z_OK, "compress fails only without memory")
        return Array(output.prefix(Int(count)))
    }

    /// An empty stored block: its length 0 and that length's complement, at the end of what was written so far.
    private static func endsWithSyncFlush(_ input: [UInt8]) -> Bool {
        input.suffix(4).elementsEqual([0x00, 0x00, 0xFF, 0xFF])
    }
}
