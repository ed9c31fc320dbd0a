extension DeliveryStore.RevocableMessage {
    /// How long after its acceptance a message can be taken back: Tencent's limit.
    private static let revocableFor = Duration.seconds(86_400)
    /// How soon an app may take back another one: Tencent's limit.
    private static let interval = Duration.seconds(1)
    /// Most recipients of one replacement.
    private static let replacementSize = 500

    /// Why it is not taken back; nil: it is.
    ///
    /// - Parameter replacement: nil: the caller gave none.
    func refusal(replacing replacement: PushOrder?, at now: UnixTime) -> Revocation? {
        if isRevoked { return .revokedBefore }
        if now - receipt.acceptedAt > Self.revocableFor { return .tooOld }
        if replacement == nil { return .withoutReplacement }
        if let sinceLast, sinceLast < Self.interval { return .tooSoon }
        return nil
    }

    /// What takes the place of what was shown, with its recipients; none where the replacement is suppressed.
    func replacements(by replacement: PushOrder?) -> [PushOrder] {
        guard var order = replacement, order.suppression == nil else { return [] }
        order.replaced = ReplacedMessage(messageID: receipt.id, acceptedAt: receipt.acceptedAt, laID: laID)
        var orders: [PushOrder] = []
        var rest = recipients[...]
        while !rest.isEmpty {
            order.recipients = Array(rest.prefix(Self.replacementSize))
            rest = rest.dropFirst(Self.replacementSize)
            orders.append(order)
        }
        return orders
    }
}
