import LiveActivity
import VerbatimJSON

/// What a caller should know of a notification that was accepted all the same; clients ignore it.
struct RequestWarning: Equatable, Sendable {
    /// The field's path in the request.
    var field: String
    /// What is the matter, a word.
    var code: String
    /// A sentence. Never holds what the field contains, but for what a date would be in the right unit.
    var message: String

    /// Whether it only guesses, by the name of a member, that a date is meant. A schema knows.
    var isDateGuess: Bool {
        PayloadFinding.Code(rawValue: code)?.isDateGuess ?? false
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("Field", field)
        writer.member("Code", code)
        writer.member("Message", message)
        writer.endObject()
    }
}
