/// The words of delivery rows in whole clauses, for people who ask why.
public enum ReasonText {
    /// What a route, waiting or priority reason means; nil: the word is not known here, such as one of APNs' own.
    public static func of(_ word: String) -> String? {
        texts[word]
    }

    /// The words that are known.
    static var words: some Collection<String> { texts.keys }

    private static let texts: [String: String] = [
        "activity_registered": "the phone has registered the activity",
        "start_token_registered": "the phone has registered a start token for the attributes type",
        "input_push_left_out":
            "the phone has registered a start token; the update token or channel that the start asks for is left out, since "
            + "the phone's iOS is older than 18 or not known: register osVersion with the device or the start token",
        "no_activity_in_message": "the message instructs no Live Activity",
        "activity_not_registered": "no phone of the account has registered the activity, or it is over",
        "start_token_not_registered": "no phone of the account has registered a start token for the attributes type",
        "activity_token_quarantined":
            "APNs did not know the activity's token on three days; the phone has to register it again",
        "start_token_quarantined":
            "APNs did not know the start token on three days; the phone has to register it again",
        "token_quarantined": "APNs did not know the device token on three days; the phone has to register it again",
        "update_token_not_registered": "the activity that a push started never registered its update token",
        "update_token_awaited":
            "the activity was started by a push and may still come up: it goes out when the phone registers the update token",
        "start_under_way": "another start of the activity may still come up on the phone",
        "start_undecided":
            "a start of the same activity was accepted before, and it is not decided yet which phones it goes to",
        "start_guarded": "the phone was sent as many starts as iOS takes in a while",
        "start_not_supported": "the phone's iOS knows no start by push, which came with 17.2",
        "start_expired": "the start was tried for as long as it makes sense",
        "newer_message_claimed": "a newer message was claimed for the activity first",
        "alert_sent_with_newest_state":
            "a newer state had gone out before, and went out again with this message's alert",
        "activity_ended": "the activity ended within the last minute",
        "state_unchanged": "the last push brought the same state, less than a minute ago",
        "paced": "another push went to the activity a moment ago; the newest of what waits goes out in a second",
        "registration_gone": "the registration was cleared",
        "certificate_missing": "there is no certificate for the businessId of the registration",
        "secret_not_readable":
            "this gateway cannot open the .p8 key that is stored for the businessId of the registration: its "
            + "LIVEPUSH_MASTER_KEY is not the one that sealed it; a gateway that can takes the push over",
        "permission_denied": "the person has denied notifications",
        "app_in_foreground": "the app is in front on the phone",
        "no_text": "there is nothing to show: no Title, no Desc and no text that derives from MsgBody",
        "no_device": "the account has no device registered",
        "push_flag": "OfflinePushInfo.PushFlag is 1",
        "online_only": "OnlineOnlyFlag is 1",
        "no_lifetime": "MsgLifeTime is 0",
        "payload_over_limit": "the payload is over Apple's limit",
        "activity_push_refused": "the phone cannot get the activity's push, so a notification takes its place",
        "end": "an end always goes at once",
        "alert": "a push with an alert goes at once",
        "caller": "as the request demands",
        "app_setting": "as the app is set up with livepush app",
        "budget_spent": "the phone had its hour's share of pushes of priority 10",
        "default": "10 while the phone's hourly share lasts",
        "notification": "a notification goes at once",
        "background": "APNs takes a background push only with 5",
    ]
}
