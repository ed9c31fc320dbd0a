/// Everything the simulator knows, without its sockets: pushes in, answers out, time in each push.
///
/// A class, since two push ports and the control port share it.
final class SimulatedAPNs {
    /// The time, for whoever has none to pass.
    let clock: () -> UnixTime
    private(set) var tokens = TokenTable()
    private(set) var phones: PhoneTable
    var keys = SigningKeyTable()
    var log = PushLog()
    /// What arrived at the ports that manage channels.
    var managementLog = PushLog()
    var channels = ChannelTable()

    init(rules: PhoneRules = PhoneRules(), clock: @escaping () -> UnixTime = { .now }) {
        self.phones = PhoneTable(rules: rules)
        self.clock = clock
    }

    /// Takes a push, decides how it ends and remembers it.
    ///
    /// A push whose answer is dropped reaches the phone: that is what makes its repeat a duplicate.
    func receive(
        _ request: PushRequest,
        on connection: Int,
        policy: inout ProviderTokenPolicy,
    ) -> PushRecord.End {
        let providerToken = Result<ProviderToken, Refusal> { () throws(Refusal) in
            try ProviderToken(authorization: request.header("authorization"))
        }
        let end: PushRecord.End
        var phone: String?
        var ignored: Phone.Ignored?
        do throws(Refusal) {
            var push = try check(request, providerToken: providerToken, policy: &policy)
            let channel = place(ofChannelIn: push, request.environment)
            push.namesUnknownChannel = channel == nil
            switch tokens.takeOutcome(of: push.token) {
            case .refuse(let refusal): throw refusal
            case .drop(let drop): end = .dropped(drop)
            case nil: end = .accepted
            }
            (phone, ignored) = phones.receive(
                push,
                environment: request.environment,
                declaration: tokens[push.token],
                time: request.time,
            )
            if let (id, place) = channel, let phone, push.payload.event?.string == "start", ignored?.what != "push",
                let stored = channels.stored(id, in: place, now: request.time.wholeSeconds)
            {
                phones.receive(
                    stored,
                    on: phone,
                    environment: request.environment,
                    isStored: true,
                    time: request.time,
                )
            }
        } catch {
            end = .refused(error)
            phone = remember(error, of: request)
        }
        log.append(
            PushRecord(
                request: request,
                connection: connection,
                providerToken: try? providerToken.get(),
                end: end,
                phone: phone,
                ignoredByPhone: ignored,
            )
        )
        return end
    }

    /// Brings a push to the phone of a declared token.
    ///
    /// - Returns: the phone.
    func deliver(
        _ push: AcceptedPush,
        _ environment: APNsEnvironment,
        _ declaration: DeclaredToken,
        time: UnixTime,
    ) -> String {
        phones.receive(push, environment: environment, declaration: declaration, time: time).phone
    }

    /// Brings a broadcast to the activities that pushes have started with its channel.
    ///
    /// - Returns: the phone of each.
    func deliver(
        _ broadcast: ChannelRequestCheck.Broadcast,
        _ environment: APNsEnvironment,
        time: UnixTime,
    ) -> [String] {
        phones.receive(broadcast, environment: environment, time: time)
    }

    /// A function of its own, so that no copy of the tables is alive when they are changed.
    private func check(
        _ request: PushRequest,
        providerToken: Result<ProviderToken, Refusal>,
        policy: inout ProviderTokenPolicy,
    ) throws(Refusal) -> AcceptedPush {
        try PushRequestCheck(keys: keys, tokens: tokens)
            .check(request, providerToken: providerToken, connection: &policy)
    }

    /// - Returns: the phone that the push was for, where that was declared.
    private func remember(_ refusal: Refusal, of request: PushRequest) -> String? {
        guard
            let token = PushRequestCheck.token(inPath: request.path).flatMap({ DeviceToken($0) }),
            let declaration = tokens[token],
            let phone = declaration.phone
        else { return nil }
        let kind = request.header("apns-push-type") ?? PushType.alert.rawValue
        phones.remember(refusal, kind: kind, declaration: declaration, token: token, time: request.time)
        return phone
    }

    // MARK: - Declarations

    /// Declares a token, or replaces what was declared.
    ///
    /// - Returns: false if there is no room for it or its phone.
    func declare(_ token: DeviceToken, _ declaration: DeclaredToken) -> Bool {
        let formerChannel = tokens[token]?.channel
        let former = tokens[token]?.phone
        guard
            declaration.phone.map(phones.hasRoom(for:)) ?? true,
            tokens.declare(token, declaration)
        else { return false }
        if let former, former != declaration.phone || declaration.kind != .activity {
            phones.withdraw(token, from: former)
        }
        phones.declare(declaration, token: token, time: clock())
        if declaration.channel != formerChannel || declaration.phone != former {
            deliverStored(to: token, declaration, time: clock())
        }
        return true
    }

    /// Forgets every declared token and every phone.
    func forgetTokens() {
        tokens.removeAll()
        phones.removeAll()
    }

    /// Forgets every push, also those that channels have stored, and what phones have made of them. Declared phones are as they were after their declarations.
    func forgetPushes() {
        log.removeAll()
        managementLog.removeAll()
        channels.forgetStored()
        phones.removeAll()
        for (token, declaration) in tokens.ofPhones {
            phones.declare(declaration, token: token, time: clock())
        }
    }
}
