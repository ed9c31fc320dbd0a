/// apns-priority of a Live Activity push, and why.
enum ActivityPriority {
    /// `end` and a push with alert always go at once; else what the caller or the app demands, else 10, the rule for
    /// Tencent's API.
    static func choose(_ instruction: ActivityInstruction, for application: Application) -> (Int, reason: String) {
        if instruction.content.event == .end { return (10, "end") }
        if let alert = instruction.content.alert, !alert.isEmpty { return (10, "alert") }
        if let priority = instruction.priority { return (priority, "caller") }
        if let priority = application.liveActivityPriority { return (priority, "app_setting") }
        return (10, "default")
    }
}
