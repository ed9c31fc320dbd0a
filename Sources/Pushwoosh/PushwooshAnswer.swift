import HTTPServer
import VerbatimJSON

/// Pushwoosh's answers. Each has a numeric `status_code`, without which its iOS SDK turns to another host; none has
/// `base_url`, which would send the SDK away.
enum PushwooshAnswer {
    /// The messages of a sending method: one code each.
    ///
    /// - Parameter unknownDevices: of each code the devices that are neither tokens nor registered here.
    static func messages(
        _ codes: [String],
        unknownDevices: [String: [String]],
        warnings: [RequestWarning],
    ) -> HTTPResponse {
        success { writer in
            writer.key("Messages")
            writer.beginArray()
            codes.forEach { writer.string($0) }
            writer.endArray()
            if !unknownDevices.isEmpty {
                writer.key("UnknownDevices")
                writer.beginObject()
                for code in codes {
                    guard let devices = unknownDevices[code] else { continue }
                    writer.key(code)
                    writer.beginArray()
                    devices.forEach { writer.string($0) }
                    writer.endArray()
                }
                writer.endObject()
            }
            if !warnings.isEmpty {
                writer.key("Warnings")
                writer.beginArray()
                warnings.forEach { $0.write(to: &writer) }
                writer.endArray()
            }
        }
    }

    /// A success whose `response` has what `write` adds.
    static func success(_ write: (inout JSONWriter) -> Void = { _ in }) -> HTTPResponse {
        answer(200, 200, "OK") { writer in
            writer.beginObject()
            write(&writer)
            writer.endObject()
        }
    }

    /// What the HTTP server refuses by itself, with a status of its own: a request that cannot be read.
    static func body(of refusal: HTTPRefusal) -> [UInt8] {
        let code = PushwooshFault.Code.malformed.rawValue
        return answer(refusal.status, code, refusal.message) { $0.null() }.body
    }

    static func failure(_ fault: PushwooshFault) -> HTTPResponse {
        var response = answer(fault.code.httpStatus, fault.code.rawValue, fault.message) { $0.null() }
        if let retryAfter = fault.retryAfter {
            response.headers.append((name: "Retry-After", value: String(retryAfter)))
        }
        return response
    }

    private static func answer(
        _ status: Int,
        _ code: Int,
        _ message: String,
        _ response: (inout JSONWriter) -> Void,
    ) -> HTTPResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("status_code", code)
        writer.member("status_message", message)
        writer.key("response")
        response(&writer)
        writer.endObject()
        var answer = HTTPResponse.json(status, writer.bytes)
        answer.outcomeCode = code
        return answer
    }
}
