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
        let numbers = text.split(separator: "_", omittingEmptySubsequences: false).map { Int64($0) }
        guard numbers.count == 3, let sequence = numbers[0], let random = numbers[1], let time = numbers[2] else {
            return nil
        }
        self.init(sequence: sequence, random: random, time: time)
    }

    /// The key as callers get it, at most 41 bytes until the year 2286.
    var text: String {
        "\(sequence)_\(random)_\(time)"
    }
}
