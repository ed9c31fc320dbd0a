/// The phones, each with the tokens that are its own.
///
/// A phone that somebody has declared is kept until it is reset. Any other token has a phone to itself; of those the ones
/// that got pushes lately are kept.
struct PhoneTable {
    /// Declared phones that fit.
    static let declaredCapacity = 500
    /// Undeclared phones that are kept for certain; up to twice as many are.
    static let undeclaredCapacity = 500

    private let rules: PhoneRules
    private var declared: [String: Phone] = [:]
    private var recent: [String: Phone] = [:]
    private var older: [String: Phone] = [:]
    /// The names of undeclared phones in the order of their latest pushes, repeats included; the end counts.
    private var latest: [String] = []

    init(rules: PhoneRules) {
        self.rules = rules
    }

    // MARK: - Declarations

    /// Whether a phone of that name can be declared.
    func hasRoom(for name: String) -> Bool {
        declared[name] != nil || declared.count < PhoneTable.declaredCapacity
    }

    /// Takes over what was declared of a token.
    mutating func declare(_ declaration: DeclaredToken, token: DeviceToken, time: UnixTime) {
        guard let name = declaration.phone else { return }
        declared[name, default: Phone(name: name, isDeclared: true, rules: rules)]
            .declare(declaration, token: token, now: time.wholeSeconds)
    }

    /// Forgets the activity of a token that is another phone's from now on.
    mutating func withdraw(_ token: DeviceToken, from name: String) {
        declared[name]?.withdraw(token)
    }

    // MARK: - Pushes

    /// Takes a push that APNs has accepted.
    ///
    /// - Returns: the phone's name, and what of the push has no effect there.
    mutating func receive(
        _ push: AcceptedPush,
        environment: APNsEnvironment,
        declaration: DeclaredToken?,
        time: UnixTime,
    ) -> (phone: String, ignored: Phone.Ignored?) {
        if let name = declaration?.phone {
            let ignored = declared[name, default: Phone(name: name, isDeclared: true, rules: rules)]
                .receive(push, environment: environment, declaration: declaration, time: time)
            return (name, ignored)
        }
        let name = push.token.fingerprint
        touch(name)
        let ignored = recent[name, default: Phone(name: name, isDeclared: false, rules: rules)]
            .receive(push, environment: environment, declaration: declaration, time: time)
        return (name, ignored)
    }

    /// Takes a broadcast for activities that pushes have started with its channel.
    ///
    /// - Returns: the phone of each.
    mutating func receive(
        _ broadcast: ChannelRequestCheck.Broadcast,
        environment: APNsEnvironment,
        time: UnixTime,
    ) -> [String] {
        var followers: [String] = []
        for name in declared.keys.sorted() + undeclaredNames.filter({ declared[$0] == nil }) {
            let count = receive(broadcast, on: name, environment: environment, isStored: false, time: time)
            followers += [String](repeating: name, count: count)
        }
        return followers
    }

    /// Takes a broadcast on one phone.
    ///
    /// - Parameter isStored: whether the channel had stored it, and the newest of its activities asks for it.
    /// - Returns: to how many activities it came.
    @discardableResult
    mutating func receive(
        _ broadcast: ChannelRequestCheck.Broadcast,
        on name: String,
        environment: APNsEnvironment,
        isStored: Bool,
        time: UnixTime,
    ) -> Int {
        func take(_ phone: inout Phone?) -> Int? {
            phone?.receive(broadcast, environment: environment, isStored: isStored, time: time)
        }
        return take(&declared[name]) ?? take(&recent[name]) ?? take(&older[name]) ?? 0
    }

    /// Notes that APNs refused a push to a token that was declared for a phone.
    mutating func remember(
        _ refusal: Refusal,
        kind: String,
        declaration: DeclaredToken,
        token: DeviceToken,
        time: UnixTime
    ) {
        guard let name = declaration.phone else { return }
        declared[name]?.remember(refusal, kind: kind, declaration: declaration, token: token, time: time)
    }

    /// Makes sure that the phone, if there is one, is among the recent ones, and comes first.
    private mutating func touch(_ name: String) {
        if recent[name] == nil {
            if recent.count >= PhoneTable.undeclaredCapacity {
                older = recent
                recent = [:]
            }
            recent[name] = older.removeValue(forKey: name)
        }
        guard latest.last != name else { return }
        latest.append(name)
        if latest.count > 8 * PhoneTable.undeclaredCapacity {
            latest = undeclaredNames.reversed()
        }
    }

    /// Latest push first.
    private var undeclaredNames: [String] {
        var seen: Set<String> = []
        return latest.reversed().filter { (recent[$0] ?? older[$0]) != nil && seen.insert($0).inserted }
    }

    // MARK: - Looking

    /// The phone of that name.
    subscript(name: String) -> Phone? {
        declared[name] ?? recent[name] ?? older[name]
    }

    /// The first `limit` phones: the declared ones by name, then the others, latest push first.
    func first(_ limit: Int) -> [Phone] {
        (declared.keys.sorted() + undeclaredNames.filter { declared[$0] == nil }).prefix(limit).compactMap { self[$0] }
    }

    /// Forgets every phone.
    mutating func removeAll() {
        self = PhoneTable(rules: rules)
    }
}
