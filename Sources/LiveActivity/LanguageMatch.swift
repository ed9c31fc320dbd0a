/// Which of several translations a phone gets.
///
/// Tags compare without regard to case, `_` is `-`, and what follows an `@` does not count: backends write `zh_tw`, iOS
/// reports `zh-Hant-TW` or `en_US@calendar=gregorian`. In this order, the first translation that fits wins:
/// 1. The phone's tag itself.
/// 2. The phone's tag with subtags dropped from its end, one by one (RFC 4647, 3.4 "Lookup"): `en-GB` takes `en`. The
///    other way round nothing is dropped: `en` does not take `en-GB`.
/// 3. Chinese is told apart by its script. Where a tag names none, it follows from the region: TW, HK and MO write
///    `Hant`, all others and plain `zh` write `Hans`. So `zh-Hans-CN` takes `zh`, `zh-Hant-HK` takes `zh-TW`, and a
///    reader of the one script never gets the other.
public enum LanguageMatch {
    /// The position of the translation for a phone, or nil: none fits, and the message's own text is shown.
    ///
    /// - Parameters:
    ///   - phone: the system language as the phone reported it; nil: it did not.
    ///   - translations: the languages there are.
    public static func choose(for phone: String?, among translations: [String]) -> Int? {
        guard let phone, !translations.isEmpty else { return nil }
        let wanted = Self.subtags(of: phone)
        guard let language = wanted.first, !language.isEmpty else { return nil }
        let offered = translations.map(Self.subtags)
        if let exact = offered.firstIndex(of: wanted) { return exact }
        if language == "zh" {
            let spelled = Self.spellingOutScript(wanted)
            let candidates = offered.map(Self.spellingOutScript)
            // Never down to `zh` alone, which would be either script.
            for count in stride(from: spelled.count, through: 2, by: -1) {
                if let match = candidates.firstIndex(of: Array(spelled.prefix(count))) { return match }
            }
            return candidates.firstIndex { $0.prefix(2).elementsEqual(spelled.prefix(2)) }
        }
        for count in stride(from: wanted.count - 1, through: 1, by: -1) {
            if let match = offered.firstIndex(of: Array(wanted.prefix(count))) { return match }
        }
        return nil
    }

    private static func subtags(of tag: String) -> [String] {
        tag.prefix { $0 != "@" }.lowercased()
            .split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
            .map(String.init)
    }

    /// The subtags with Chinese's script in second place: `zh-tw` becomes `zh-hant-tw`.
    private static func spellingOutScript(_ subtags: [String]) -> [String] {
        guard subtags.first == "zh", subtags.dropFirst().first?.utf8.count != 4 else { return subtags }
        let isTraditional = subtags.contains { ["tw", "hk", "mo"].contains($0) }
        return ["zh", isTraditional ? "hant" : "hans"] + subtags.dropFirst()
    }
}
