/// A table whose old rows are deleted one by one.
struct AgedTable: Sendable {
    let name: StaticString
    /// Which rows are old; `$1` is the number of days. A part of SQL, constant.
    let condition: StaticString

    static let all = [
        AgedTable(name: "registration_transfer", condition: "transferred_at < now() - $1 * interval '1 day'"),
        // What a late registration is compared with; the functions look back no further, whatever the flag says.
        AgedTable(name: "registration_clear", condition: "cleared_at < now() - interval '24 hours'"),
        // Registered again, a quarantined token is tried again; after these days nobody has.
        AgedTable(name: "device", condition: "quarantined_at < now() - interval '7 days'"),
        AgedTable(name: "start_token", condition: "quarantined_at < now() - interval '7 days'"),
        // Nothing waits for it any more, and no start is kept back by it.
        AgedTable(name: "start_guard", condition: "recent_starts[1] < now() - interval '1 day'"),
        AgedTable(name: "activity_start", condition: "waits_until < now() - interval '1 day'"),
        // Over after 12 hours: nothing is sent to it any more, and most phones never clear it.
        AgedTable(
            name: "live_activity",
            condition: """
                (greatest(started_at, registered_at) < now() - $1 * interval '1 day'
                OR quarantined_at < now() - interval '7 days')
                """
        ),
        // What waits stays, however long ago it was accepted.
        AgedTable(name: "scheduled_message", condition: "cancelled_at < now() - $1 * interval '1 day'"),
        AgedTable(
            name: "fan_out",
            condition: "accepted_at < now() - $1 * interval '1 day' AND finished_at IS NOT NULL"
        ),
        AgedTable(name: "revocation", condition: "accepted_at < now() - $1 * interval '1 day'"),
        AgedTable(name: "channel_request", condition: "requested_at < now() - $1 * interval '1 day'"),
        AgedTable(
            name: "alarm",
            condition: """
                last_seen < now() - $1 * interval '1 day'
                AND coalesce(ended_at, fades_at) < now() - $1 * interval '1 day'
                """
        ),
    ]
}
