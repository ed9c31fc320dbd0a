public import LiveActivity

/// Who gets a message that names no accounts. Its recipients are looked up a chunk at a time when it is sent.
///
/// Indirect: an order that names accounts, as nearly all do, has one word for it.
public indirect enum Audience: Sendable, Equatable {
    /// Every account on one of whose phones the activity of this id runs, or may still come up after a start.
    case activity(String)
    /// The phones with these device tokens, and no others of their accounts.
    case devices([PushToken])
    /// Every account of the app.
    case everyone
    /// Whoever is in each of the segments `all` and, unless `any` is empty, in one of those: accounts with all their
    /// phones, or single phones. At least one of the two is not empty.
    case segments(all: [String], any: [String])

    /// What it is called in `fan_out.audience` and in the encoding.
    var word: String {
        switch self {
        case .activity: "activity"
        case .devices: "devices"
        case .everyone: "everyone"
        case .segments: "segments"
        }
    }
}
