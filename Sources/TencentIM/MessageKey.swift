import VerbatimJSON

/// MsgKey, `<MsgSeq>_<MsgRandom>_<MsgTime>`: the form of Tencent's samples and callbacks.
struct MessageKey: Equatable {
    /// MsgSeq, or a random number where the caller sent none.
    var sequence: Int64
    /// MsgRandom.
    var random: Int64
    /// MsgTime, in seconds since 1970.
    var time: Int64

    init(sequence: Int64, random: Int64, time: Int64) {
        self.sequence = sequence
        self.random = random
        self.time = time
    }

    /// Reads a key that this gateway made; nil for any other text.
    init?(_ text: String) {
        let text = text.utf8
        guard let first = text.firstIndex(of: UInt8(ascii: "_")),
            let second = text[first...].dropFirst().firstIndex(of: UInt8(ascii: "_")),
            let sequence = Int64(Substring(text[..<first])),
            let random = Int64(Substring(text[first..<second].dropFirst())),
            let time = Int64(Substring(text[second...].dropFirst()))
        else { return nil }
        self.init(sequence: sequence, random: random, time: time)
    }

    /// The key as callers get it, at most 41 bytes until the year 2286.
    var text: String {
        DecimalText.joined(sequence, random, time, by: "_")
    }
}
