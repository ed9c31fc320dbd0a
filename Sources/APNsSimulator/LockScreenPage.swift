import HTTPServer

/// The page that draws the lock screen of each phone. Its files lie in `Page/` and are part of the program.
enum LockScreenPage {
    /// Nothing but the page's own files, its empty icon and the simulator's answers: no inline script, so that content
    /// which a push brought can never run, whatever else goes wrong.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'
        """

    /// The answer to a GET of one of the page's files; nil for any other path.
    static func answer(_ path: String) -> HTTPResponse? {
        switch path {
        case "/": file(PackageResources.lock_screens_html, type: "text/html")
        case "/lock-screens.css": file(PackageResources.lock_screens_css, type: "text/css")
        case "/lock-screens.js": file(PackageResources.lock_screens_js, type: "text/javascript")
        default: nil
        }
    }

    private static func file(_ bytes: [UInt8], type: String) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                ("Content-Type", type + "; charset=utf-8"), ("Content-Security-Policy", policy),
                ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                ("Cache-Control", "no-cache"),
            ],
            body: bytes,
        )
    }
}
