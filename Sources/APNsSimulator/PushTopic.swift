/// The value of `apns-topic`: a bundle ID and what names the kind of push.
struct PushTopic: Equatable {
    let bundleID: String
    /// One of ``PushType``'s suffixes, or empty.
    let suffix: String

    var text: String { bundleID + suffix }

    /// - Throws: 400 BadTopic for anything that cannot be a bundle ID with such a suffix.
    init(_ text: String) throws(Refusal) {
        let suffixes = PushType.allCases.map(\.topicSuffix).filter { !$0.isEmpty }
        let suffix = suffixes.first { text.hasSuffix($0) } ?? ""
        let bundleID = String(text.dropLast(suffix.count))
        guard PushTopic.isBundleID(bundleID) else { throw Refusal(400, "BadTopic") }
        self.bundleID = bundleID
        self.suffix = suffix
    }

    /// Letters, digits, hyphens and periods, not empty, at most 155 bytes, which is Apple's limit for an app's bundle ID.
    static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { character in
                switch character {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}
