import Glibc

/// Which pushes a bench sends: the same in every one of its processes, which only agree on these numbers.
struct BenchPlan: Sendable {
    /// A request: one state for some accounts.
    struct Message: Sendable {
        /// Place in its phase, from 0.
        let number: Int
        /// How often these accounts had their turn before; 0 is the warm-up.
        let round: Int
        /// Places of the recipients in the random order.
        let recipients: Range<Int>
    }

    /// The app that everything belongs to.
    static let sdkAppID: Int64 = 1_400_000_000
    /// The bundle id of its certificate.
    static let bundleID = "com.example.bench"
    /// The LaId of every activity.
    static let laID = "order"
    /// The LaId of the activity that a fan-out is about.
    static let fanOutLaID = "match"
    /// The application code and the API token by which a fan-out is posted.
    static let applicationCode = "BENCH-00001"
    static let apiToken = "livepush-bench-api-token"
    /// The account that posts.
    static let administrator = "administrator"

    let registrations: Int
    let pushes: Int
    /// Recipients of each message.
    let batch: Int
    let seed: UInt64
    /// Whether the APNs client is measured alone: its registrations are made up.
    var isAPNsOnly = false
    /// Versions of a schema that the app has. The newest fits the states; the others do not, so that the gateway looks up
    /// which one the recipients' phones have.
    var schemas = 0
    /// Phones that one update goes to while the messages are posted; 0: there is no such update.
    var fanOut = 0
    /// Messages a second; nil: as many as are answered.
    var rate: Int?

    /// When the update to many is posted: the messages before are those that nothing else disturbs.
    var recipientsBeforeFanOut: Int { pushes / 4 }

    /// Pushes before the measurement begins: connections, prepared statements and caches are there then.
    var warmUpPushes: Int { min(registrations, max(2000, min(4 * batch, pushes))) }

    /// The times of answers that the sink keeps: one for each account and round, and one for each phone of the fan-out.
    var slots: Int { fanOutSlots.upperBound }

    var fanOutSlots: Range<Int> {
        let first = (1 + rounds) * registrations
        return first..<first + fanOut
    }

    private var rounds: Int { (pushes + registrations - 1) / registrations }

    /// The accounts in random order.
    func shuffledAccounts() -> [UInt32] {
        var generator = SplitMix64(state: seed)
        return (0..<UInt32(registrations)).shuffled(using: &generator)
    }

    func messages(isWarmUp: Bool) -> [Message] {
        var messages: [Message] = []
        var (left, round) = (isWarmUp ? warmUpPushes : pushes, isWarmUp ? 0 : 1)
        while left > 0 {
            let end = min(left, registrations)
            for start in stride(from: 0, to: end, by: batch) {
                let recipients = start..<min(start + batch, end)
                messages.append(Message(number: messages.count, round: round, recipients: recipients))
            }
            left -= end
            round += 1
        }
        return messages
    }

    /// Where the sink notes the answer to a push.
    func slot(round: Int, account: Int) -> Int? {
        guard 0..<registrations ~= account, 0...rounds ~= round else { return nil }
        return round * registrations + account
    }

    /// Where the sink notes the answer to a push of the fan-out, whose phones are numbered behind the accounts.
    func fanOutSlot(account: Int) -> Int? {
        guard registrations..<registrations + fanOut ~= account else { return nil }
        return fanOutSlots.lowerBound + account - registrations
    }

    /// SQL that registers the activity of every account, and those of the fan-out. The token begins with the account's number, by which the sink
    /// knows it; 80 bytes, as ActivityKit's are.
    var registrationSQL: String {
        """
        SET session_replication_role = replica;
        INSERT INTO live_activity
            (sdk_app_id, account, la_id, installation, token, business_id, environment, started_at, registered_at)
        SELECT \(BenchPlan.sdkAppID), 'account-' || lpad(number::text, 9, '0'),
            CASE WHEN number < \(registrations) THEN '\(BenchPlan.laID)' ELSE '\(BenchPlan.fanOutLaID)' END,
            md5(number::text)::uuid::text,
            int8send(number) || sha256(int8send(number)) || sha256(int8send(-number)) || int8send(number),
            1, 'sandbox', now(), now()
        FROM generate_series(0::bigint, \(registrations + fanOut - 1)) AS number;
        RESET session_replication_role;
        """
    }

    /// SQL that stores the schemas; nil: there are none.
    var schemaSQL: String? {
        guard schemas > 0 else { return nil }
        let rows = (1...schemas).map { version in
            "(\(BenchPlan.sdkAppID), 'BenchAttributes', \(version), '\(BenchPlan.model(isFit: version == schemas))')"
        }
        return "INSERT INTO content_schema (sdk_app_id, attributes_type, version, model) VALUES "
            + rows.joined(separator: ", ")
    }

    /// What ``appendState(of:to:)`` writes, as a schema.
    private static func model(isFit: Bool) -> String {
        let fields = [
            ("round", "Int"), ("step", "Int"), ("minutes", "Int"), ("courier", "Courier"), ("stops", "[String]"),
            ("note", "String"),
        ]
        let courier = [("name", "String"), ("vehicle", "String"), ("at", "[Double]")]
        func text(_ fields: [(String, String)]) -> String {
            fields.map { #"{"key": "\#($0)", "type": "\#($1)"}"# }.joined(separator: ", ")
        }
        return
            #"{"format": 1, "attributesType": "BenchAttributes", "attributes": "Attributes", "contentState": "State","#
            + #" "types": {"Attributes": {"fields": []}, "Courier": {"fields": [\#(text(courier))]},"#
            + #" "State": {"fields": [\#(text(fields + (isFit ? [] : [("gone", "Bool")])))]}}}"#
    }

    /// The name of an account, padded as in ``registrationSQL``.
    static func appendAccount(_ account: UInt32, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "account-".utf8)
        let digits = String(account).utf8
        for _ in digits.count..<9 {
            bytes.append(UInt8(ascii: "0"))
        }
        bytes.append(contentsOf: digits)
    }

    /// A content state of about 200 bytes, different for each message.
    static func appendState(of message: Message, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: #"{"round":"#.utf8)
        bytes.append(contentsOf: String(message.round).utf8)
        bytes.append(contentsOf: #","step":"#.utf8)
        bytes.append(contentsOf: String(message.number).utf8)
        bytes.append(contentsOf: Array(remainingState.utf8))
    }

    /// The request that starts the fan-out, in Pushwoosh's form.
    static var fanOutRequest: [UInt8] {
        var body = Array(
            (#"{"request":{"application":"\#(applicationCode)","auth":"\#(apiToken)","notifications":[{"#
                + #""live_activity_id":"\#(fanOutLaID)","live_activity":{"event":"update","content-state":"#).utf8
        )
        appendState(of: Message(number: 0, round: 0, recipients: 0..<0), to: &body)
        body.append(contentsOf: "}}]}}".utf8)
        return body
    }

    /// What the sink looks for in a payload.
    static let roundMark = Array(#""round":"#.utf8)

    private static let remainingState =
        #","minutes":12,"courier":{"name":"Rosa","vehicle":"bicycle","at":[52.520008,13.404954]},"#
        + #""stops":["Kastanienallee 12","Torstrasse 140"],"note":"The courier is on the way"}"#
}

/// A small generator with a seed, so that two processes make the same order.
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
