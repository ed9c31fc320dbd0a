import APNs
import EventLoop

/// Which alarms are up, and which rows that makes: a value without I/O.
///
/// A fault can come with every push, so an alarm is written at once and then at most once in ``writeInterval``, with the
/// count of what was seen meanwhile.
struct AlarmBook: Sendable, Equatable {
    /// Time between two writes of one alarm.
    static let writeInterval: Duration = .seconds(5)
    /// Most alarms that are remembered; what comes beyond is dropped, the table shows enough by then.
    static let limit = 1000

    /// What is to be written: first the rows that are raised, then those that end.
    struct Writes: Sendable, Equatable {
        var raised: [(alarm: Alarm, count: Int64)] = []
        var ended: [Alarm.Key] = []

        var isEmpty: Bool { raised.isEmpty && ended.isEmpty }

        static func == (left: Writes, right: Writes) -> Bool {
            left.ended == right.ended && left.raised.elementsEqual(right.raised, by: ==)
        }
    }

    private struct Entry: Sendable, Equatable {
        var alarm: Alarm
        /// Whether it is up.
        var isUp: Bool
        /// How often it was seen since the last write.
        var unwritten: Int64 = 0
        /// It ended, and that is not written.
        var endIsUnwritten = false
        var lastWritten: MonotonicTime?
    }

    private var entries: [Alarm.Key: Entry] = [:]

    /// Whether a push that APNs takes could end an alarm.
    var awaitsEnd: Bool {
        entries.values.contains { $0.isUp && $0.alarm.key.kind.fadesAfterSeconds == nil }
    }

    /// Whether anything is to be written, now or a little later.
    var hasUnwritten: Bool {
        entries.values.contains { $0.unwritten > 0 || $0.endIsUnwritten }
    }

    // MARK: - Events

    /// A fault was seen.
    mutating func raise(_ alarm: Alarm) {
        guard entries[alarm.key] != nil || entries.count < AlarmBook.limit else { return }
        var entry = entries[alarm.key] ?? Entry(alarm: alarm, isUp: true)
        entry.alarm = alarm
        entry.isUp = true
        entry.endIsUnwritten = false
        entry.unwritten += 1
        entries[alarm.key] = entry
    }

    /// What an alarm is about is right again.
    mutating func end(_ alarm: Alarm) {
        guard entries[alarm.key] != nil || entries.count < AlarmBook.limit else { return }
        var entry = entries[alarm.key] ?? Entry(alarm: alarm, isUp: false)
        entry.isUp = false
        entry.endIsUnwritten = true
        entries[alarm.key] = entry
    }

    /// APNs took the key of this destination, and with `provesTopic` a push of this route to its bundle id.
    mutating func keyWasTaken(
        sdkAppID: Int64,
        businessID: Int64,
        environment: APNsEnvironment,
        route: DeliveryTarget.Kind,
        provesTopic: Bool,
    ) {
        for (key, entry) in entries where entry.isUp && entry.alarm.environment == environment {
            let isOwn = key.sdkAppID == sdkAppID && entry.alarm.businessID == businessID
            switch key.kind {
            case .apnsUnreachable: break
            case .signingKeyRefused where isOwn, .providerTokenRefused where isOwn: break
            case .topicRefused where isOwn && provesTopic && entry.alarm.route == route: break
            default: continue
            }
            entries[key]?.isUp = false
            entries[key]?.endIsUnwritten = true
        }
    }

    // MARK: - Writing

    /// What is to be written now; it counts as written, until ``putBack(_:)``.
    mutating func takeWrites(at now: MonotonicTime) -> Writes {
        var writes = Writes()
        for key in entries.keys.sorted() {
            guard var entry = entries[key] else { continue }
            if let last = entry.lastWritten, now - last < AlarmBook.writeInterval { continue }
            guard entry.unwritten > 0 || entry.endIsUnwritten else {
                // Kept so long only to hold the next write back.
                if !entry.isUp || key.kind.fadesAfterSeconds != nil { entries[key] = nil }
                continue
            }
            if entry.unwritten > 0 { writes.raised.append((entry.alarm, entry.unwritten)) }
            if entry.endIsUnwritten { writes.ended.append(key) }
            entry.unwritten = 0
            entry.endIsUnwritten = false
            entry.lastWritten = now
            entries[key] = entry
        }
        return writes
    }

    /// These could not be written; the next ``takeWrites(at:)`` has them again.
    mutating func putBack(_ writes: Writes) {
        for (alarm, count) in writes.raised {
            var entry = entries[alarm.key] ?? Entry(alarm: alarm, isUp: !writes.ended.contains(alarm.key))
            entry.unwritten += count
            entry.lastWritten = nil
            entries[alarm.key] = entry
        }
        for key in writes.ended {
            guard let entry = entries[key], !entry.isUp else { continue }
            entries[key]?.endIsUnwritten = true
            entries[key]?.lastWritten = nil
        }
    }

    /// Takes over what stands in the table, where all gateways write: any of them may see that a key works again, and
    /// this one may have forgotten in a restart what it raised.
    ///
    /// - Parameter open: all alarms that do not fade and have not ended.
    mutating func follow(_ open: [Alarm]) {
        for alarm in open where entries[alarm.key] == nil && entries.count < AlarmBook.limit {
            entries[alarm.key] = Entry(alarm: alarm, isUp: true)
        }
        let known = Set(open.map(\.key))
        for (key, entry) in entries where key.kind.fadesAfterSeconds == nil && entry.isUp && entry.unwritten == 0 {
            // Another gateway ended it.
            if !known.contains(key) { entries[key]?.isUp = false }
        }
    }
}

extension Alarm.Key: Comparable {
    static func < (left: Alarm.Key, right: Alarm.Key) -> Bool {
        (left.kind.rawValue, left.sdkAppID, left.subject) < (right.kind.rawValue, right.sdkAppID, right.subject)
    }
}
