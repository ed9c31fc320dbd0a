// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Every target: an async method of a non-Sendable class runs in its caller's isolation, so that the parts of a lane
/// (connections, queues) can have async methods without being actors of their own.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
    // JSON, SQL parameters and HTTP are used across modules for every push; specialized, they cost some 5 % less.
    .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
]

func module(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name + "Tests",
        dependencies: [.byName(name: name)] + dependencies,
        exclude: exclude,
        swiftSettings: settings,
    )
}

/// Where the running toolchain keeps SwiftParser and SwiftSyntax: beside the library that this manifest is linked to.
let parserLibraries: String = {
    let library = "/pm/ManifestAPI/libPackageDescription."
    // Not String(contentsOfFile:), which ends where the first read of such a file does.
    let maps = try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()
    for line in String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n") {
        guard let start = line.firstIndex(of: "/"), let end = line.range(of: library) else { continue }
        return line[start..<end.lowerBound] + "/host"
    }
    return ""
}()

let package = Package(
    name: "livepush",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "livepush", targets: ["livepush"]),
        .executable(name: "livepush-schema-reader", targets: ["livepush-schema-reader"]),
    ],
    targets: [
        .systemLibrary(
            name: "CLibevent",
            pkgConfig: "libevent_openssl",
            providers: [.apt(["libevent-dev"]), .brew(["libevent"])],
        ),
        .systemLibrary(name: "CHTTPParser", providers: [.apt(["libhttp-parser-dev"]), .brew(["http-parser"])]),
        .systemLibrary(
            name: "CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"]), .brew(["libnghttp2"])],
        ),
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "openssl",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])],
        ),
        .systemLibrary(name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),

        module("Logging", []),
        module("Metrics", []),
        module("EventLoop", ["CLibevent"]),
        module("VerbatimJSON", []),
        module("ContentSchema", ["VerbatimJSON"]),
        module("HTTPServer", ["EventLoop", "Logging", "CHTTPParser", "CLibevent"]),
        module("PostgresClient", ["EventLoop", "Logging", "CLibpq", "CLibevent"]),
        module("LiveActivity", ["VerbatimJSON", "COpenSSL"]),
        module(
            "APNs",
            ["EventLoop", "Logging", "Metrics", "VerbatimJSON", "CLibevent", "CNghttp2", "COpenSSL"],
        ),
        module(
            "Gateway",
            [
                "APNs", "PostgresClient", "ContentSchema", "LiveActivity", "EventLoop", "Logging", "Metrics",
                "VerbatimJSON", "COpenSSL", "CZlib",
            ]
        ),
        module("TencentIM", ["Gateway", "HTTPServer", "LiveActivity", "Logging", "VerbatimJSON"]),
        module("Pushwoosh", ["Gateway", "HTTPServer", "LiveActivity", "Logging", "VerbatimJSON"]),
        module("ClientAPI", ["APNs", "Gateway", "HTTPServer", "LiveActivity", "Logging", "VerbatimJSON"]),
        module(
            "APNsSimulator",
            ["EventLoop", "HTTPServer", "Logging", "VerbatimJSON", "CLibevent", "CNghttp2", "COpenSSL"],
            // The page that draws the phones, inside the program.
            resources: [
                .embedInCode("Page/lock-screens.css"),
                .embedInCode("Page/lock-screens.html"),
                .embedInCode("Page/lock-screens.js"),
            ],
        ),
        .executableTarget(
            name: "livepush",
            dependencies: [
                "APNs", "APNsSimulator", "ClientAPI", "ContentSchema", "EventLoop", "Gateway", "HTTPServer",
                "LiveActivity", "Logging", "Metrics", "PostgresClient", "Pushwoosh", "TencentIM", "VerbatimJSON",
            ],
            exclude: ["Schema/queries.md"],
            // A link to the top-level folder: `livepush migrate` carries the files inside the executable.
            resources: [
                .embedInCode("Schema/0001_tables.sql"),
                .embedInCode("Schema/0002_views.sql"),
                .embedInCode("Schema/0003_registration_functions.sql"),
                .embedInCode("Schema/0004_recent_request.sql"),
                .embedInCode("Schema/0005_badges_and_presence.sql"),
                .embedInCode("Schema/0006_rate_limits.sql"),
                .embedInCode("Schema/0007_operators.sql"),
                .embedInCode("Schema/0008_registration_import.sql"),
                .embedInCode("Schema/0009_token_hygiene.sql"),
                .embedInCode("Schema/0010_provider_tokens.sql"),
                .embedInCode("Schema/0011_pacing.sql"),
                .embedInCode("Schema/0012_suspects.sql"),
                .embedInCode("Schema/0013_claim_answer.sql"),
                .embedInCode("Schema/0014_waiting_alerts.sql"),
                .embedInCode("Schema/0015_content_schema.sql"),
                .embedInCode("Schema/0016_start_tokens.sql"),
                .embedInCode("Schema/0017_channels.sql"),
                .embedInCode("Schema/0018_fan_out.sql"),
                .embedInCode("Schema/0019_schedule.sql"),
                .embedInCode("Schema/0020_pushwoosh.sql"),
                .embedInCode("Schema/0021_revocations.sql"),
                .embedInCode("Schema/0022_push_lines.sql"),
                .embedInCode("Schema/0023_limits_and_imports.sql"),
                .embedInCode("Schema/0024_start_order.sql"),
                .embedInCode("Schema/0025_waiting_recipients.sql"),
                .embedInCode("Schema/0026_answers_lost.sql"),
                .embedInCode("Schema/0027_last_sent.sql"),
                .embedInCode("Schema/plain_reason.sql"),
                .embedInCode("Schema/roles.sql"),
            ],
            swiftSettings: settings,
            // A server needs no Swift then; and calls into the standard library do not go by way of a table, which is
            // 4 % of the gateway's time.
            linkerSettings: [.unsafeFlags(["-static-stdlib"], .when(platforms: [.linux], configuration: .release))],
        ),

        // Reads Swift source; a program of its own, so that `livepush` needs no library of the toolchain.
        .executableTarget(
            name: "livepush-schema-reader",
            dependencies: ["ContentSchema"],
            swiftSettings: settings + [.unsafeFlags(["-I", parserLibraries])],
            linkerSettings: [
                .unsafeFlags(["-L", parserLibraries, "-Xlinker", "-rpath", "-Xlinker", parserLibraries]),
                .linkedLibrary("SwiftParser"),
                .linkedLibrary("SwiftParserDiagnostics"),
                .linkedLibrary("SwiftDiagnostics"),
                .linkedLibrary("SwiftSyntax"),
            ],
        ),

        .target(
            name: "TestSupport",
            dependencies: ["EventLoop", "Logging"],
            path: "Tests/TestSupport",
            swiftSettings: settings,
        ),
        tests("Logging", []),
        tests("Metrics", []),
        tests("EventLoop", ["TestSupport"]),
        tests("VerbatimJSON", []),
        tests("ContentSchema", ["VerbatimJSON"]),
        tests("HTTPServer", ["EventLoop", "TestSupport"]),
        tests("PostgresClient", ["EventLoop", "TestSupport"]),
        tests("LiveActivity", ["VerbatimJSON"]),
        tests(
            "APNs",
            ["COpenSSL", "EventLoop", "Metrics", "TestSupport", "VerbatimJSON"],
            exclude: ["Peers/http2_peer.py"],
        ),
        tests(
            "Gateway",
            [
                "APNs", "ContentSchema", "LiveActivity", "Metrics", "PostgresClient", "EventLoop", "TestSupport",
                "VerbatimJSON",
            ],
        ),
        tests(
            "TencentIM",
            [
                "ContentSchema", "EventLoop", "Gateway", "HTTPServer", "LiveActivity", "Logging", "TestSupport",
                "VerbatimJSON",
            ],
        ),
        tests(
            "Pushwoosh",
            [
                "ContentSchema", "EventLoop", "Gateway", "HTTPServer", "LiveActivity", "Logging", "PostgresClient",
                "VerbatimJSON",
            ],
        ),
        tests(
            "ClientAPI",
            ["Gateway", "HTTPServer", "LiveActivity", "PostgresClient", "EventLoop", "TestSupport", "VerbatimJSON"]
        ),
        tests("APNsSimulator", ["EventLoop", "TestSupport", "VerbatimJSON"]),
        tests("livepush", ["TestSupport", "VerbatimJSON"], exclude: ["Peers"]),
    ],
    swiftLanguageModes: [.v6],
)

// Deploy/fuzz asks for it: libFuzzer brings a main function of its own, so that nothing else can be built with it.
if Context.environment["LIVEPUSH_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "APNs", "EventLoop", "Gateway", "HTTPServer", "LiveActivity", "Pushwoosh", "TencentIM", "VerbatimJSON",
            ],
            path: "Tests/Fuzz",
            swiftSettings: settings + [.unsafeFlags(["-parse-as-library"])],
        )
    )
}
