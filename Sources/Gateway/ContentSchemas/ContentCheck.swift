import ContentSchema
public import LiveActivity
import VerbatimJSON

/// What one version of an app's type makes of the content of a push.
public struct ContentCheck: Sendable {
    /// The type, as phones register it.
    public let attributesType: String
    /// Its version.
    public let version: Int64
    /// Of each part that the push has, the state before the attributes of a start.
    let verdicts: [(part: ActivitySchema.Part, verdict: ContentVerdict)]

    /// Decides what a phone decodes of a push: its content-state, if it has one, and the attributes of a start.
    ///
    /// - Parameters:
    ///   - schema: the version that the phone's app has.
    ///   - now: Unix seconds by the clock, to tell dates from dates.
    public init(_ content: ActivityContent, by schema: StoredSchema, now: Int64) {
        self.attributesType = schema.schema.attributesType
        self.version = schema.version
        var verdicts: [(ActivitySchema.Part, ContentVerdict)] = []
        for (part, bytes) in [
            (ActivitySchema.Part.contentState, content.contentState), (.attributes, content.start?.attributes ?? []),
        ] where !bytes.isEmpty {
            // The dialect parsed it strictly before.
            guard let value = try? JSONDocument(parsing: bytes).root else { continue }
            verdicts.append((part, schema.schema.check(value, as: part, root: "", now: now)))
        }
        self.verdicts = verdicts
    }

    /// Whether the phone decodes everything and shows every date as meant.
    var isFlawless: Bool { self.verdicts.allSatisfy(\.verdict.isFlawless) }

    /// What keeps the push from being right on the phone, what it meets first in front.
    ///
    /// - Parameter rules: of the app; one that converts dates has none left that are misread.
    public func misfits(under rules: ContentRules) -> [ContentNotice] {
        self.verdicts.flatMap { part, verdict in
            verdict.faults.map { ContentNotice($0, part) }
                + (rules.convertsDates ? [] : verdict.misreadDates.map { ContentNotice($0, part) })
        }
    }

    /// The content with each misread date replaced by the right number, every other byte as it was; nil if there is
    /// none.
    public func converting(_ content: ActivityContent) -> ActivityContent? {
        var converted = content
        var isChanged = false
        for (part, verdict) in self.verdicts where !verdict.misreadDates.isEmpty {
            switch part {
            case .contentState:
                guard let value = try? JSONDocument(parsing: content.contentState).root else { continue }
                converted.contentState = verdict.converting(value)
            case .attributes:
                guard let bytes = content.start?.attributes, let value = try? JSONDocument(parsing: bytes).root else {
                    continue
                }
                converted.start?.attributes = verdict.converting(value)
            }
            isChanged = true
        }
        return isChanged ? converted : nil
    }
}
