import Gateway
import Glibc
import HTTPServer
import Pushwoosh
import TencentIM
import VerbatimJSON

/// What `Deploy/fuzz` feeds with bytes; the environment variable LIVEPUSH_FUZZ_TARGET says which of them.
enum FuzzTarget: String {
    case json
    case userSig = "usersig"
    case sendMessage = "sendmsg"
    case batchSendMessage = "batchsendmsg"
    case groupMessage = "group"
    case pushToAll = "push"
    case pushwoosh
    case http2

    static let current = getenv("LIVEPUSH_FUZZ_TARGET").flatMap { FuzzTarget(rawValue: String(cString: $0)) } ?? .json

    func run(_ bytes: [UInt8]) async {
        switch self {
        case .json: FuzzTarget.parse(bytes)
        case .userSig:
            if let signature = try? UserSig(decoding: String(decoding: bytes, as: UTF8.self)) {
                try? signature.verify(secretKey: FuzzGateway.secretKey, now: FuzzGateway.time)
            }
        case .sendMessage: await FuzzTarget.post(bytes, "openim/sendmsg")
        case .batchSendMessage: await FuzzTarget.post(bytes, "openim/batchsendmsg")
        case .groupMessage: await FuzzTarget.post(bytes, "group_open_http_svc/send_group_msg")
        case .pushToAll: await FuzzTarget.post(bytes, "timpush/push")
        case .pushwoosh:
            await FuzzTarget.postToPushwoosh(bytes, "startLiveActivity")
            await FuzzTarget.postToPushwoosh(bytes, "updateLiveActivity")
        case .http2: FuzzConnection.receive(bytes)
        }
    }

    /// Whatever is accepted must be accepted again as it leaves.
    private static func parse(_ bytes: [UInt8]) {
        guard let root = try? JSONDocument(parsing: bytes).root else { return }
        visit(root)
    }

    private static func visit(_ value: JSONValue) {
        guard (try? JSONDocument(parsing: Array(value.verbatim))) != nil else {
            fatalError("a value of an accepted text is refused by itself")
        }
        _ = (value.string, value.integer, value.double)
        for element in value.elements.prefix(3) {
            visit(element)
        }
    }

    private static func post(_ bytes: [UInt8], _ command: String) async {
        let gateway = FuzzGateway()
        let response = await TencentIMAPI(gateway: gateway, logger: nil).respond(
            to: HTTPRequest(
                method: "POST",
                path: "/v4/" + command,
                query: FuzzGateway.query,
                headers: [:],
                body: bytes,
                remoteAddress: "127.0.0.1",
            )
        )
        guard let answer = try? JSONDocument(parsing: response.body).root, response.status == 200 else {
            fatalError("the answer is not JSON, or not 200")
        }
        let status = answer["ActionStatus"]?.string
        guard gateway.accepted == 0 || status == "OK" || status == "SomeError" else {
            fatalError("accepted and refused at once")
        }
    }
}

extension FuzzTarget {
    private static func postToPushwoosh(_ bytes: [UInt8], _ method: String) async {
        let gateway = FuzzGateway()
        let response = await PushwooshAPI(gateway: gateway, registrations: nil, logger: nil).respond(
            to: HTTPRequest(
                method: "POST",
                path: "/json/1.3/" + method,
                query: nil,
                headers: [:],
                body: bytes,
                remoteAddress: "127.0.0.1",
            )
        )
        guard let status = (try? JSONDocument(parsing: response.body))?.root["status_code"]?.integer else {
            fatalError("the answer has no status_code")
        }
        guard (gateway.accepted > 0) == (status == 200) else {
            fatalError("accepted and refused at once, or neither")
        }
    }
}

/// libFuzzer calls this with what it made up.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let done = FuzzSemaphore()
    Task {
        await FuzzTarget.current.run(bytes)
        done.signal()
    }
    done.wait()
    return 0
}

/// A thread waits for a task.
///
/// `@unchecked`: the semaphore is made for use from several threads, and its place in memory is never changed.
private final class FuzzSemaphore: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0 {} }
}
