import LiveActivity

/// A review for which it has to be known which phones will get the content.
struct PendingReview {
    /// Most recipients whose registrations are looked up before a message is stored.
    static let recipientLimit = 500

    let question: DeliveryStore.PhoneQuestion
    private let content: ActivityContent
    private let schemas: ContentSchemas
    private let now: Int64

    /// - Returns: nil if there are too many recipients, or an audience other than devices: each is checked when it is sent to.
    fileprivate init?(_ order: PushOrder, _ activity: ActivityInstruction, _ schemas: ContentSchemas, _ now: Int64) {
        var devices: [PushToken] = []
        switch order.audience {
        case nil: break
        case .devices(let tokens) where !tokens.isEmpty: devices = tokens
        case .devices, .activity, .everyone, .segments: return nil
        }
        guard max(order.recipients.count, devices.count) <= PendingReview.recipientLimit else { return nil }
        question = DeliveryStore.PhoneQuestion(
            sdkAppID: order.sdkAppID,
            laID: activity.laID,
            life: ActivityLife.duration(for: activity.content.event),
            accounts: order.recipients,
            startedType: activity.content.start?.attributesType,
            devices: devices,
        )
        content = activity.content
        self.schemas = schemas
        self.now = now
    }

    /// The review, once the phones are known.
    func review(for phones: [ContentReview.PhoneVersion]) -> ContentReview {
        ContentReview(content, for: phones, by: schemas, now: now)
    }
}

extension ContentReview {
    /// How far a review gets without the database.
    enum Beginning {
        /// That is all; nil: there is nothing to check, or by.
        case finished(ContentReview?)
        case dependsOnPhones(PendingReview)
    }

    /// Begins the review of an order by the schemas of its app.
    static func begin(_ order: PushOrder, by schemas: ContentSchemas?, now: Int64) -> Beginning {
        guard let activity = order.activity, order.suppression == nil, let schemas else { return .finished(nil) }
        if let review = ContentReview(ofFlawless: activity.content, by: schemas, now: now) { return .finished(review) }
        return PendingReview(order, activity, schemas, now).map { .dependsOnPhones($0) } ?? .finished(nil)
    }
}
