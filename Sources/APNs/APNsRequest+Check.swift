extension APNsRequest {
    /// The reason that APNs would give for a value that cannot be a header of HTTP/2 (RFC 9113, 8.2.1) or is longer
    /// than Apple allows. Sending it would end the connection for all other pushes.
    var refusal: String? {
        let isToken = APNsRequest.allBytes(of: deviceToken) { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard isToken, (1...1024).contains(deviceToken.utf8.count) else { return "BadDeviceToken" }
        guard APNsRequest.isHeaderValue(topic, limit: 512) else { return "BadTopic" }
        guard APNsRequest.isHeaderValue(apnsID, limit: 36) else { return "BadMessageId" }
        if let collapseID, !APNsRequest.isHeaderValue(collapseID, limit: 64) { return "BadCollapseId" }
        return nil
    }

    static func isHeaderValue(_ text: String, limit: Int) -> Bool {
        let bytes = text.utf8
        return (1...limit).contains(bytes.count)
            && bytes.first != UInt8(ascii: " ") && bytes.last != UInt8(ascii: " ")
            && allBytes(of: text) { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Every push is looked through: at the bytes themselves, not by way of the view, which is some times slower.
    @inline(__always)
    private static func allBytes(of text: String, satisfy condition: (UInt8) -> Bool) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            for byte in bytes where !condition(byte) {
                return false
            }
            return true
        }
    }
}
