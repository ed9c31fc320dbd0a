import Glibc

/// What HTTP/2 does with a push. Called from nghttp2's callbacks: it only notes.
extension PendingPush {
    /// Longer answers are cut: Apple's are below 200 bytes.
    static let bodyLimit = 4096

    /// Writes the next part of the payload.
    ///
    /// - Returns: how many bytes.
    func write(to target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, payload.count - payloadOffset)
        payload.withUnsafeBytes { payload in
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: payload[payloadOffset..<payloadOffset + count]))
        }
        payloadOffset += count
        isSentWhole = payloadOffset == payload.count
        return count
    }

    func receive(header name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        switch name.count {
        case 7 where PendingPush.isEqual(name, ":status"):
            status = Int(String(decoding: value, as: UTF8.self)) ?? 0
        case 7 where PendingPush.isEqual(name, "apns-id"):
            // Most often the one that was sent, which need not be made anew.
            var sentID = request.id
            let isSame = sentID.withUTF8 { $0.elementsEqual(value) }
            answeredID = isSame ? sentID : PendingPush.text(value)
        case 15 where PendingPush.isEqual(name, "apns-request-id"):
            answeredID = PendingPush.text(value)
        case 15 where PendingPush.isEqual(name, "apns-channel-id"):
            answeredChannelID = String(decoding: value.prefix(APNsChannelRequest.longestChannelID), as: UTF8.self)
        case 11 where PendingPush.isEqual(name, "retry-after"):
            retryAfterSeconds = Int64(String(decoding: value, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
        default:
            break
        }
    }

    func receive(body bytes: UnsafeBufferPointer<UInt8>) {
        body.append(contentsOf: bytes.prefix(request.answerLimit - body.count))
    }

    private static func isEqual(_ bytes: UnsafeBufferPointer<UInt8>, _ name: StaticString) -> Bool {
        guard let start = bytes.baseAddress, bytes.count == name.utf8CodeUnitCount else { return false }
        return memcmp(start, name.utf8Start, bytes.count) == 0
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: bytes.prefix(64), as: UTF8.self)
    }
}
