import LiveActivity
import Testing

@Suite("The language of a notification", .timeLimit(.minutes(5)))
struct LanguageMatchTests {
    @Test(
        "which translation a phone gets",
        arguments: [
            // The tag itself, in any case and with either separator.
            ("en", "de en fr", "en"), ("EN", "de en", "en"), ("en_GB", "en en-GB", "en-GB"),
            ("pt-BR", "pt_br", "pt_br"),
            ("en_US@calendar=gregorian", "en-us", "en-us"),
            // The first of two that are the same.
            ("en", "EN en", "EN"),
            // Subtags go from the phone's end, and only there.
            ("en-GB", "de en", "en"), ("en-Latn-GB", "en en-Latn", "en-Latn"), ("sr-Latn-RS", "sr-Latn sr", "sr-Latn"),
            ("en", "en-GB", nil), ("en-US", "en-GB", nil), ("de", "d", nil), ("d", "de", nil),
            // Chinese by script.
            ("zh-Hans-CN", "zh", "zh"), ("zh-Hans", "zh-CN", "zh-CN"), ("zh", "zh-Hans", "zh-Hans"),
            ("zh", "zh-SG", "zh-SG"), ("zh-CN", "zh-Hans", "zh-Hans"), ("zh-SG", "zh-cn", "zh-cn"),
            ("zh-Hant-TW", "zh-TW", "zh-TW"), ("zh-TW", "zh-Hant", "zh-Hant"), ("zh-HK", "zh_hant", "zh_hant"),
            ("zh-MO", "zh-Hant", "zh-Hant"), ("zh-Hant-HK", "zh-TW", "zh-TW"), ("zh-Hant", "zh-MO", "zh-MO"),
            ("zh-Hant-HK", "zh-TW zh-HK", "zh-HK"), ("zh-Hant-TW", "zh-Hant zh-TW", "zh-TW"),
            ("zh-TW", "zh-Hant-TW zh-TW", "zh-TW"), ("zh-Hans-HK", "zh-HK zh-CN", "zh-CN"),
            // Never the other script.
            ("zh-Hant-TW", "zh", nil), ("zh-Hant", "zh-Hans en", nil), ("zh", "zh-TW", nil),
            ("zh-Hans", "zh-Hant", nil),
            // Nothing to go by.
            (nil, "en", nil), ("", "en", nil), ("xx", "en zh", nil), ("-", "en", nil), ("en", "", nil),
            ("@", "en", nil),
        ] as [(String?, String, String?)],
    )
    func choice(phone: String?, offered: String, expected: String?) {
        let offered = offered.split(separator: " ").map(String.init)
        #expect(LanguageMatch.choose(for: phone, among: offered).map { offered[$0] } == expected)
    }

    private let content = NotificationContent(
        title: "Order",
        subtitle: "Pizza",
        body: "On its way",
        translations: [
            NotificationTranslation(language: "de", title: "Bestellung", body: "Unterwegs"),
            NotificationTranslation(language: "fr", title: "Commande"),
            NotificationTranslation(language: "es", title: "", body: "En camino"),
        ],
        badge: .add(1),
    )

    @Test(
        "a translation without Title or Desc takes the message's own",
        arguments: [
            ("de-AT", "Bestellung", "Unterwegs"), ("fr", "Commande", "On its way"), ("es", "Order", "En camino"),
            ("it", "Order", "On its way"), (nil, "Order", "On its way"),
        ] as [(String?, String, String)],
    )
    func translated(language: String?, title: String, body: String) {
        let shown = self.content.translated(by: self.content.translation(for: language))
        #expect(shown == NotificationContent(title: title, subtitle: "Pizza", body: body, badge: .add(1)))
    }

    @Test("a position that no translation has leaves the message's own texts", arguments: [-1, 3])
    func noSuchTranslation(index: Int) {
        #expect(self.content.translated(by: index) == self.content.translated(by: nil))
    }

    @Test("there is nothing to send only without a text in any language, and not if it is silent")
    func nothing() {
        #expect(NotificationContent(sound: "default", ext: "x", badge: .set(1)).isNothing)
        #expect(NotificationContent(translations: [NotificationTranslation(language: "en", title: "")]).isNothing)
        #expect(!NotificationContent(translations: [NotificationTranslation(language: "en", body: "B")]).isNothing)
        #expect(!NotificationContent(title: "T").isNothing)
        #expect(!NotificationContent(isSilent: true).isNothing)
    }
}
