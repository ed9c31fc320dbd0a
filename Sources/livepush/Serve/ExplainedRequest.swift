import ClientAPI
import Gateway
import Glibc
import HTTPServer
import Logging
import Pushwoosh
import TencentIM
import VerbatimJSON

/// Requests with `explain=1` in the query: what would become of the message, in the answer of its own API, with nothing
/// sent or stored.
///
/// The dialect gets a ``MessageExplainer`` in place of the gateway, so that whatever it sends is explained, on routes to
/// come too.
enum ExplainedRequest {
    /// Whether the query has a member `explain`. Only `explain=0` means no: that a slip of the pen sends a message is worse
    /// than that it does not.
    static func isAsked(by request: HTTPRequest) -> Bool {
        guard var query = request.query else { return false }
        return query.withUTF8 { bytes in
            var start = 0
            while true {
                if let value = value(in: bytes[start...]), !value.elementsEqual([UInt8(ascii: "0")]) { return true }
                // Not by the collection's own search, which is some times slower: this is asked of every request.
                let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[start...])
                guard let base = rest.baseAddress,
                    let separator = memchr(base, Int32(UInt8(ascii: "&")), rest.count)
                else { return false }
                start += UnsafeRawPointer(separator) - base + 1
            }
        }
    }

    /// What follows `explain=` where `query` begins with it.
    private static func value(in query: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        let name: StaticString = "explain"
        let count = name.utf8CodeUnitCount
        guard query.count >= count, query.first == name.utf8Start.pointee,
            query.prefix(count).elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: count))
        else { return nil }
        let rest = query.dropFirst(count)
        guard let next = rest.first, next != UInt8(ascii: "&") else { return rest.prefix(0) }
        guard next == UInt8(ascii: "=") else { return nil }
        return rest.dropFirst().prefix { $0 != UInt8(ascii: "&") }
    }

    /// Answers it.
    static func response(
        to request: HTTPRequest,
        by explainer: MessageExplainer,
        logger: Logger?,
    ) async -> HTTPResponse {
        var response: HTTPResponse
        if request.path == "/v4" || request.path.hasPrefix("/v4/") {
            response = await TencentIMAPI(gateway: explainer, revoker: explainer, logger: logger).respond(to: request)
        } else if request.path == "/json" || request.path.hasPrefix("/json/") {
            response = await PushwooshAPI(gateway: explainer, registrations: nil, logger: logger).respond(to: request)
        } else {
            return await ClientAPI.explain(request, by: explainer)
        }
        guard explainer.hasExplained, response.body.last == UInt8(ascii: "}") else { return response }
        var writer = JSONWriter()
        writer.beginArray()
        for explanation in explainer.explanations {
            explanation.write(to: &writer)
        }
        writer.endArray()
        response.body.removeLast()
        response.body += Array(#","Explain":"#.utf8) + writer.bytes
        if !explainer.notes.isEmpty {
            var writer = JSONWriter()
            explainer.notes.write(to: &writer)
            response.body += Array(#","ExplainWarnings":"#.utf8) + writer.bytes
        }
        response.body += Array("}".utf8)
        return response
    }
}
