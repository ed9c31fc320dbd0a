import CNghttp2

/// The header fields of a push (Apple: "Sending notification requests to APNs").
///
/// The path and the provider token are never indexed, by Apple's wish and for secrecy; what differs from push to push
/// is kept out of the compression table too.
enum RequestHeaders {
    /// Calls `body` with the fields, which are valid for that call only. nghttp2 copies the values.
    static func withFields<Result>(
        of request: PendingRequest,
        _ authority: [UInt8],
        _ authorization: [UInt8],
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result,
    ) -> Result {
        switch request {
        case .push(let push): withFields(of: push, authority, authorization, body)
        case .channel(let request): withFields(of: request, authority, authorization, body)
        }
    }

    private static func withFields<Result>(
        of request: APNsRequest,
        _ authority: [UInt8],
        _ authorization: [UInt8],
        _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result,
    ) -> Result {
        let priority = String(request.priority)
        let expiration = String(request.expiration)
        let pathPrefix: StaticString = "/3/device/"
        let capacity =
            authority.count + authorization.count + pathPrefix.utf8CodeUnitCount + request.deviceToken.utf8.count
            + request.topic.utf8.count + request.pushType.rawValue.utf8.count + priority.utf8.count
            + expiration.utf8.count + request.apnsID.utf8.count + (request.collapseID?.utf8.count ?? 0)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { values in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: 11) { fields in
                var block = Block(values: values, fields: fields)
                block.add(":method", fixed: "POST")
                block.add(":scheme", fixed: "https")
                block.add(":authority", authority)
                block.write(UnsafeBufferPointer(start: pathPrefix.utf8Start, count: pathPrefix.utf8CodeUnitCount))
                block.add(":path", request.deviceToken, isIndexed: false)
                block.add("authorization", authorization, isIndexed: false)
                block.add("apns-topic", request.topic)
                block.add("apns-push-type", request.pushType.rawValue)
                block.add("apns-priority", priority)
                block.add("apns-expiration", expiration, isIndexed: false)
                block.add("apns-id", request.apnsID, isIndexed: false)
                if let collapseID = request.collapseID {
                    block.add("apns-collapse-id", collapseID, isIndexed: false)
                }
                return body(UnsafeBufferPointer(start: fields.baseAddress, count: block.fieldCount))
            }
        }
    }

    /// Lays the values behind each other and points a field at each.
    struct Block {
        let values: UnsafeMutableBufferPointer<UInt8>
        let fields: UnsafeMutableBufferPointer<nghttp2_nv>
        var fieldCount = 0
        private var start = 0
        private var end = 0

        init(values: UnsafeMutableBufferPointer<UInt8>, fields: UnsafeMutableBufferPointer<nghttp2_nv>) {
            self.values = values
            self.fields = fields
        }

        mutating func add(_ name: StaticString, fixed value: StaticString) {
            append(
                name,
                UnsafeMutablePointer(mutating: value.utf8Start),
                value.utf8CodeUnitCount,
                NGHTTP2_NV_FLAG_NO_COPY_VALUE
            )
        }

        mutating func add(_ name: StaticString, _ value: [UInt8], isIndexed: Bool = true) {
            value.withUnsafeBufferPointer { write($0) }
            finish(name, isIndexed: isIndexed)
        }

        mutating func add(_ name: StaticString, _ value: String, isIndexed: Bool = true) {
            var value = value
            value.withUTF8 { write($0) }
            finish(name, isIndexed: isIndexed)
        }

        /// Appends to the value that the next ``add(_:_:isIndexed:)`` ends.
        mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
            _ = UnsafeMutableBufferPointer(rebasing: values[end...]).update(fromContentsOf: bytes)
            end += bytes.count
        }

        private mutating func finish(_ name: StaticString, isIndexed: Bool) {
            let flags = isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
            append(name, values.baseAddress.map { $0 + start }, end - start, flags)
            start = end
        }

        private mutating func append(
            _ name: StaticString,
            _ value: UnsafeMutablePointer<UInt8>?,
            _ count: Int,
            _ flags: nghttp2_nv_flag,
        ) {
            let field = nghttp2_nv(
                name: UnsafeMutablePointer(mutating: name.utf8Start),
                value: value,
                namelen: name.utf8CodeUnitCount,
                valuelen: count,
                flags: UInt8(flags.rawValue | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue),
            )
            fields.initializeElement(at: fieldCount, to: field)
            fieldCount += 1
        }
    }
}
