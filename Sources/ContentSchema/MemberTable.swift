import VerbatimJSON

/// The members of an object as a keyed container finds them: names that Swift takes for equal (`é` in one piece and in two)
/// are the same, and the first counts.
struct MemberTable {
    private var members: [(key: String, value: JSONValue)]
    /// Only for objects that are too large to search through.
    private var positions: [String: Int]?

    init(_ object: JSONValue) {
        let members = object.members
        guard members.count > 16 || members.contains(where: { !$0.key.utf8.allSatisfy { $0 < 0x80 } }) else {
            self.members = members
            return
        }
        var positions: [String: Int] = [:]
        self.members = []
        for member in members where positions[member.key] == nil {
            positions[member.key] = self.members.count
            self.members.append(member)
        }
        self.positions = positions
    }

    var keys: [String] {
        self.members.map(\.key)
    }

    subscript(key: String) -> JSONValue? {
        if let positions { return positions[key].map { self.members[$0].value } }
        return self.members.first { $0.key == key }?.value
    }
}
