import CNghttp2

extension RequestHeaders {
    /// Calls `body` with the fields of a request about channels, which are valid for that call only.
    static func withFields<Result>(
        of request: APNsChannelRequest,
        _ authority: [UInt8],
        _ authorization: [UInt8],
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result,
    ) -> Result {
        let path = request.path
        // The broadcast's push type is that of the header, lower-case; that of a channel's body has capitals.
        var values: [(name: StaticString, value: String, isIndexed: Bool)] = []
        if let channelID = request.channelID { values.append(("apns-channel-id", channelID, true)) }
        if case .broadcast(_, let priority, let expiration, _) = request.operation {
            values.append(("apns-push-type", APNsPushType.liveActivity.rawValue, true))
            values.append(("apns-priority", String(priority), true))
            values.append(("apns-expiration", String(expiration), false))
        }
        values.append(("apns-request-id", request.requestID, false))
        let capacity = values.reduce(path.utf8.count + authority.count + authorization.count) {
            $0 + $1.value.utf8.count
        }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: values.count + 5) { fields in
                var block = Block(values: bytes, fields: fields)
                block.add(":method", fixed: request.method)
                block.add(":scheme", fixed: "https")
                block.add(":authority", authority)
                block.add(":path", path, isIndexed: false)
                block.add("authorization", authorization, isIndexed: false)
                for (name, value, isIndexed) in values {
                    block.add(name, value, isIndexed: isIndexed)
                }
                return body(UnsafeBufferPointer(start: fields.baseAddress, count: block.fieldCount))
            }
        }
    }
}
