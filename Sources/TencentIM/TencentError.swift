import Gateway

/// A refusal, in the words of Tencent's API: HTTP 200 with a code and a text.
struct TencentError: Error, Equatable {
    /// Tencent's error codes, as far as this gateway answers with them.
    enum Code: Int, Sendable {
        case groupParameter = 10004
        case groupUnknown = 10010
        case groupID = 10015
        case groupAccountUnknown = 10019
        case groupMentions = 10053
        case databaseAway = 20004
        case httpParse = 60002
        case tooManyRequests = 60007
        case unknownResource = 60009
        case administratorRequired = 60010
        case sdkAppIDMissing = 60012
        case accountNotString = 60015
        case badParameter = 60025
        case userSigExpired = 70001
        case userSigEmpty = 70002
        case userSigMalformed = 70003
        case userSigWrongSignature = 70009
        case userSigOtherIdentifier = 70013
        case userSigOtherApplication = 70014
        case unknownApplication = 70020
        case userSigFailsTooOften = 70050
        case accountNotImported = 70107
        case accountParameter = 70402
        case groupBodyTooLong = 80002
        case body = 90001
        case messageBody = 90002
        case recipient = 90003
        case sequence = 90004
        case random = 90005
        case timestamp = 90006
        case messageBodyNotArray = 90007
        case sender = 90008
        case messageElement = 90010
        case tooManyRecipients = 90011
        case unknownRecipient = 90012
        case tagTooLong = 90020
        case tagTwice = 90022
        case pushToAllTooSoon = 90024
        case lifetimeOutOfRange = 90026
        case recipientsNotArray = 90028
        case recipientsEmpty = 90029
        case syncOtherMachine = 90031
        case tooManyTags = 90032
        case attributes = 90033
        case tagsAndAttributes = 90039
        case tagEmpty = 90040
        case offlinePushInfo = 90043
        case lifetimeNotInteger = 90044
        case tooManyPushesToAll = 90047
        case unknownTask = 90049
        case taskRevoked = 90050
        case revokedTooOften = 90051
        case taskTooOld = 90052
        case revokedWithoutReplacement = 90053
        case batchTooLong = 90055
        case messageAllTooLong = 90056
        case batchTooFrequent = 90057
        case databaseRefused = 91000
        case bodyTooLong = 93000

        /// Of `timpush/batch` only; Tencent gave the number away twice.
        static let dataIDTooLong = Code.batchTooFrequent
    }

    /// What is wrong.
    var code: Code
    /// `ErrorInfo`: the field's path, then what is wrong with it. Never holds what the field contains.
    var info: String
    /// After how many seconds to try again, where that helps.
    var retryAfter: Int64?
    /// What else the caller should know; not logged.
    var warnings: [RequestWarning] = []

    /// `ErrorInfo` for the log, where nothing stands that a request contained: the date that would be right tells the one
    /// that was sent.
    var infoWithoutNumbers: String {
        var shortened = ""
        var digits = ""
        for character in info + " " {
            if character.isASCII, character.isNumber {
                digits.append(character)
                continue
            }
            shortened += digits.utf8.count > 4 ? "…" : digits
            digits = ""
            shortened.append(character)
        }
        return String(shortened.dropLast())
    }

    init(_ code: Code, _ info: String, retryAfter: Int64? = nil) {
        self.code = code
        self.info = info
        self.retryAfter = retryAfter
    }

    /// A fault of the field at `path`.
    init(_ code: Code, path: String, _ fault: String) {
        self.init(code, "\(path): \(fault)")
    }

    init(_ error: UserSigError) {
        let code: Code =
            switch error {
            case .expired: .userSigExpired
            case .empty: .userSigEmpty
            case .malformed: .userSigMalformed
            case .wrongSignature: .userSigWrongSignature
            case .otherIdentifier: .userSigOtherIdentifier
            case .otherApplication: .userSigOtherApplication
            }
        self.init(code, path: "usersig", error.message)
    }

    init(_ unavailable: GatewayUnavailable) {
        switch unavailable.reason {
        case .databaseAway:
            self.init(.databaseAway, "the database is away, try again", retryAfter: unavailable.retryAfter)
        case .overloaded:
            self.init(.tooManyRequests, "too much work waits, try again later", retryAfter: unavailable.retryAfter)
        case .databaseRefused:
            self.init(.databaseRefused, "internal error: the database refused the request")
        case .secretNotReadable:
            self.init(
                .databaseRefused,
                GatewayUnavailable.secretNotReadable,
                retryAfter: unavailable.retryAfter,
            )
        case .nothingToExplain:
            self.init(.badParameter, path: "explain", "this command sends nothing that could be explained")
        case .overLimit(let exceeded):
            let code: Code =
                switch exceeded.limit {
                case .secondsBetweenPushesToAll: .pushToAllTooSoon
                case .pushesToAllPerDay: .tooManyPushesToAll
                case .requests, .callerRequests, .batchRecipients, .clientRequests, .userSigFailures: .tooManyRequests
                }
            self.init(code, exceeded.message, retryAfter: exceeded.retryAfter)
        }
    }

    /// Runs `body`, and gives its faults the code that the command has for all of them.
    static func coding<Value>(
        _ code: Code,
        _ body: () throws(TencentError) -> Value,
    ) throws(TencentError) -> Value {
        do throws(TencentError) {
            return try body()
        } catch {
            var error = error
            error.code = code
            throw error
        }
    }

    /// Runs `body` and puts what is in the gateway's way into Tencent's words.
    static func translating<Value>(
        _ body: () async throws(GatewayUnavailable) -> Value
    ) async throws(TencentError) -> Value {
        do {
            return try await body()
        } catch {
            throw TencentError(error)
        }
    }
}
