/// Everything the simulator knows, without its sockets: pushes in, answers out, time in each push.
///
/// A class, since two push ports and the control port share it.
final class SimulatedAPNs {
    var keys = SigningKeyTable()
    var tokens = TokenTable()
    var log = PushLog()
    var phone = Phone()

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
        var ignored: Phone.Ignored?
        do throws(Refusal) {
            let push = try check(request, providerToken: providerToken, policy: &policy)
            switch tokens.takeOutcome(of: push.token) {
            case .refuse(let refusal): throw refusal
            case .drop(let drop): end = .dropped(drop)
            case nil: end = .accepted
            }
            ignored = phone.receive(push, environment: request.environment, time: request.time)
        } catch {
            end = .refused(error)
        }
        log.append(
            PushRecord(
                request: request,
                connection: connection,
                providerToken: try? providerToken.get(),
                end: end,
                ignoredByPhone: ignored,
            )
        )
        return end
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

    /// Forgets every declared token and what the phones have seen.
    func forgetTokens() {
        tokens.removeAll()
        phone.removeAll()
    }
}
