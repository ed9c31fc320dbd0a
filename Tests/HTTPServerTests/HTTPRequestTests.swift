import HTTPServer
import Testing

@Suite("HTTPRequest", .timeLimit(.minutes(5)))
struct HTTPRequestTests {
    private func request(path: String = "/", query: String? = nil) -> HTTPRequest {
        HTTPRequest(method: "GET", path: path, query: query, headers: [:], body: [], remoteAddress: "127.0.0.1")
    }

    static let paths: [(String, [String]?)] = [
        ("/", [""]), ("/a/b", ["a", "b"]), ("/a/", ["a", ""]), ("//a", ["", "a"]),
        ("/a%2Fb/c", ["a/b", "c"]), ("/a%252Fb", ["a%2Fb"]), ("/%E4%BD%A0", ["你"]), ("/a+b", ["a+b"]), ("/..", [".."]),
        ("/%", nil), ("/%2", nil), ("/%zz", nil), ("/%+1", nil), ("/%FF", nil), ("/%C0%AF", nil), ("/%ED%A0%80", nil),
        ("/a%00", nil), ("*", nil), ("", nil),
    ]

    @Test("path is split first, then decoded once", arguments: paths)
    func pathSegments(_ path: String, _ segments: [String]?) {
        #expect(request(path: path).pathSegments == segments)
    }

    @Test("query is decoded name by name")
    func query() {
        let items = request(query: "a=1&b=%26%3D&&c&=d&a=2+3=4&%61=x").queryItems
        #expect(items?.map(\.name) == ["a", "b", "c", "", "a", "a"])
        #expect(items?.map(\.value) == ["1", "&=", "", "d", "2+3=4", "x"])
        #expect(request(query: "b=1&a=2&a=3").queryValue("a") == "2")
        #expect(request(query: "b=1").queryValue("a") == nil)
        #expect(request().queryItems?.isEmpty == true)
        #expect(request(query: "").queryItems?.isEmpty == true)
    }

    @Test("a badly encoded query is nil as a whole", arguments: ["a=%", "a=1&b=%FF", "%00=1", "a=%0"])
    func badQuery(_ query: String) {
        #expect(request(query: query).queryItems == nil)
        #expect(request(query: query).queryValue("a") == nil)
    }

    @Test("headers are found without regard to case, in their order")
    func headers() {
        let headers: HTTPHeaders = ["Content-Type": "a", "X": "1", "x": "2", "X-Y": ""]
        #expect(headers.first(named: "content-type") == "a")
        #expect(headers.all(named: "X") == ["1", "2"])
        #expect(headers.first(named: "x-y") == "")
        #expect(headers.first(named: "") == nil)
        #expect(headers.first(named: "Content-Typ") == nil)
        #expect(headers.all(named: "[").isEmpty)
    }
}
