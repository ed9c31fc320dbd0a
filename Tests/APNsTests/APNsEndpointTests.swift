import Testing

@testable import struct APNs.APNsEndpoint
@testable import struct APNs.APNsEndpointError

@Suite(.timeLimit(.minutes(5)))
struct APNsEndpointTests {
    @Test(
        "A URL gives host, port and authority",
        arguments: [
            ("https://api.push.apple.com:443", "api.push.apple.com", 443, "api.push.apple.com"),
            ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
            ("HTTPS://localhost:2197/", "localhost", 2197, "localhost:2197"),
            ("https://127.0.0.1:8443", "127.0.0.1", 8443, "127.0.0.1:8443"),
            ("https://[::1]:8443", "::1", 8443, "[::1]:8443"),
            ("https://[::1]", "::1", 443, "[::1]"),
        ] as [(String, String, UInt16, String)]
    )
    func valid(_ url: String, _ host: String, _ port: UInt16, _ authority: String) throws {
        let endpoint = try APNsEndpoint(parsing: url)
        #expect(endpoint.host == host)
        #expect(endpoint.port == port)
        #expect(endpoint.authority == authority)
    }

    @Test(
        "Anything else is refused",
        arguments: [
            "", "api.push.apple.com", "http://localhost", "https://", "https://:443", "https://localhost:",
            "https://localhost:0", "https://localhost:65536", "https://localhost:-1", "https://localhost:+1",
            "https://localhost:443/3/device", "https://user@localhost", "https://local host", "https://[::1",
            "https://[::1]443", "https://[localhost", "https://::1", "https://localhost?x", "https://höst",
        ]
    )
    func invalid(_ url: String) {
        #expect(throws: APNsEndpointError.self) { try APNsEndpoint(parsing: url) }
    }
}
