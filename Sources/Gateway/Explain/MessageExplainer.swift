public import LiveActivity
public import Logging
public import PostgresClient

/// Says what would become of messages if they were accepted now, by the code that sends them, and sends and stores
/// nothing: a gateway that a dialect is given in place of the real one, so that whatever the dialect can send can be
/// explained.
///
/// The claims, counts and waits that sending makes are made in transactions that are rolled back at once, since only the
/// statements themselves know what they would decide. Until then, which is a round trip, they lock the rows that sending
/// would. APNs is taken to accept every push.
///
/// For one request; it lives on one lane's thread.
public final class MessageExplainer: PushwooshGateway {
    /// Most recipients of a message that are explained.
    public static let recipientLimit = 500
    /// The id that the message would have: newer than all others.
    private static let messageID = Int64.max

    /// Every recipient of every message of the request, in their order; of an audience the first ones.
    public internal(set) var explanations: [RecipientExplanation] = []
    /// What a person should know of a message as a whole.
    public internal(set) var notes: [RecipientExplanation.Note] = []
    /// What would become of a push to a broadcast channel; nil: the request is none.
    public internal(set) var explainedChannel: ChannelExplanation?
    /// Whether anything of the request was explained.
    public internal(set) var hasExplained = false
    /// Recipients of a message that is to be taken back of whom nothing comes up any more.
    var cancelled: AccountSet = []

    let store: DeliveryStore
    private let accounts: AccountStore
    private let audiences: FanOutStore
    private let pushwoosh: PushwooshStore
    let directory: ApplicationDirectory
    private let pacing: ActivityPacing
    private let startRules: StartRules
    private let retrySchedule: RetrySchedule
    private let clock: () -> UnixTime
    let logger: Logger

    /// - Parameters:
    ///   - pool: connections with the rights of a gateway.
    ///   - configuration: the rules by which a gateway sends.
    ///   - clock: the time by PostgreSQL's clock.
    public init(
        pool: PostgresPool,
        directory: ApplicationDirectory,
        configuration: GatewayConfiguration,
        logger: Logger,
        clock: @escaping () -> UnixTime,
    ) {
        self.store = DeliveryStore(pool: pool, isTrial: true)
        self.accounts = AccountStore(pool: pool)
        self.audiences = FanOutStore(pool: pool)
        self.pushwoosh = PushwooshStore(pool: pool)
        self.directory = directory
        self.pacing = configuration.activityPacing
        self.startRules = configuration.startRules
        self.retrySchedule = configuration.retrySchedule
        self.clock = clock
        self.logger = logger
    }

    // MARK: - MessageGateway

    /// The app, whose limits count nothing but UserSigs that are not accepted.
    public func application(_ sdkAppID: Int64) throws(GatewayUnavailable) -> Application? {
        guard let configured = directory.known else { throw GatewayUnavailable(.databaseAway) }
        guard var application = try configured.application(sdkAppID) else { return nil }
        application.rateLimiter = application.rateLimiter.map { $0.ofRequestsWithoutEffect() }
        return application
    }

    /// As the gateway that sends.
    public func hasCertificate(businessID: Int64, in sdkAppID: Int64) -> Bool {
        directory.current.hasCertificate(businessID: businessID, in: sdkAppID)
    }

    /// The time by PostgreSQL's clock.
    public func now() -> UnixTime {
        clock()
    }

    /// As the gateway that sends.
    public func review(_ order: PushOrder) async throws(GatewayUnavailable) -> ContentReview? {
        let schemas = directory.current.applications[order.sdkAppID]?.contentSchemas
        switch ContentReview.begin(order, by: schemas, now: now().seconds) {
        case .finished(let review): return review
        case .dependsOnPhones(let pending):
            let phones = try await asking { () throws(PostgresError) in
                try await store.phoneVersions(pending.question)
            }
            return pending.review(for: phones)
        }
    }

    /// Explains the message as if its time had come.
    ///
    /// - Returns: an answer without a key, since nothing was accepted.
    public func accept(_ planned: PlannedOrder) async throws(GatewayUnavailable) -> Acceptance {
        let now = now()
        var explained = try await asking { () throws(PostgresError) in
            try await explain(planned.order, planned.digest, at: now)
        }
        if let time = planned.sendAt, now < time {
            let message = "it is to be sent at \(time.seconds); what is told here is decided then"
            for index in explained.indices {
                explained[index].notes.append(RecipientExplanation.Note(code: "scheduled", message: message))
            }
        }
        if planned.isPushToAll {
            let exceeded = try await asking { () throws(PostgresError) in
                try await store.pushToAllWait(in: planned.order.sdkAppID)
            }
            if let exceeded {
                let message =
                    "unless it is a repeat it would be refused now, \(exceeded.message); in "
                    + "\(exceeded.retryAfter) s it would not"
                notes.append(RecipientExplanation.Note(code: "over_limit", message: message))
            }
        }
        explanations += explained
        hasExplained = true
        return Acceptance(message: AcceptedMessage(id: 0, acceptedAt: now), messageKey: "", isRepeat: false)
    }

    /// Explains the messages, each as if its time had come.
    ///
    /// - Returns: answers without keys, since nothing was accepted.
    public func accept(_ orders: [PlannedOrder]) async throws(GatewayUnavailable) -> [Acceptance] {
        var acceptances: [Acceptance] = []
        for order in orders {
            acceptances.append(try await accept(order))
        }
        return acceptances
    }

    /// As the gateway that sends.
    public func nickname(of account: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> String? {
        try await asking { () throws(PostgresError) in try await accounts.nickname(of: account, in: sdkAppID) }
    }

    /// As the gateway that sends.
    public func importedAccounts(
        among names: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> AccountSet {
        try await asking { () throws(PostgresError) in try await accounts.imported(among: names, in: sdkAppID) }
    }

    /// As the gateway that sends.
    public func hasSegment(_ name: String, in sdkAppID: Int64) async throws(GatewayUnavailable) -> Bool {
        try await asking { () throws(PostgresError) in try await accounts.hasSegment(name, in: sdkAppID) }
    }

    /// Refused: it would store something.
    public func importAccounts(_ profiles: [AccountProfile], in sdkAppID: Int64) async throws(GatewayUnavailable) {
        throw GatewayUnavailable(.nothingToExplain)
    }

    /// Refused: it would erase something.
    public func deleteAccounts(
        _ names: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> AccountSet {
        throw GatewayUnavailable(.nothingToExplain)
    }

    /// As the gateway that sends.
    public func applicationCode(_ code: String) throws(GatewayUnavailable) -> ApplicationCode? {
        guard let configured = directory.known else { throw GatewayUnavailable(.databaseAway) }
        return configured.codes[code]
    }

    /// As the gateway that sends.
    public func apiToken(_ token: String) throws(GatewayUnavailable) -> APIToken? {
        guard let configured = directory.known else { throw GatewayUnavailable(.databaseAway) }
        return configured.apiTokens[APIToken.digest(of: token)]
    }

    /// As the gateway that sends.
    public func time(of localTime: String, in zone: String) async throws(GatewayUnavailable) -> UnixTime? {
        try await asking { () throws(PostgresError) in try await pushwoosh.time(of: localTime, in: zone) }
    }

    /// As the gateway that sends.
    public func deviceTokens(
        of installations: [String],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [String: PushToken] {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.deviceTokens(of: installations, in: sdkAppID)
        }
    }

    /// As the gateway that sends.
    public func activities(
        withTokens tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> [PushToken: RegisteredActivity] {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.activities(withTokens: tokens, in: sdkAppID)
        }
    }

    /// As the gateway that sends.
    public func registeredTokens(
        among tokens: [PushToken],
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Set<PushToken> {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.registeredTokens(among: tokens, in: sdkAppID)
        }
    }

    /// As the gateway that sends.
    public func hasActivity(
        _ laID: String,
        for event: ActivityEvent,
        in sdkAppID: Int64,
    ) async throws(GatewayUnavailable) -> Bool {
        try await asking { () throws(PostgresError) in
            try await pushwoosh.hasActivity(laID, for: event, in: sdkAppID)
        }
    }

    func asking<Answer>(
        _ body: () async throws(PostgresError) -> Answer
    ) async throws(GatewayUnavailable) -> Answer {
        do throws(PostgresError) {
            return try await body()
        } catch {
            throw GatewayUnavailable(error, logger: logger)
        }
    }

    // MARK: - Explaining

    func explain(
        _ order: PushOrder,
        _ digest: RequestDigest?,
        at now: UnixTime,
    ) async throws(PostgresError) -> [RecipientExplanation] {
        let receipt = AcceptedMessage(id: MessageExplainer.messageID, acceptedAt: now)
        let underWay = directory.underWay(receipt, order, deadline: now + .seconds(order.lifetime))
        let message = MessageTask(underWay, isWhole: true, isShared: false)
        let recipients = try await recipients(of: order, receipt).map { ExplainedRecipient($0, $1, message) }
        let accounts = recipients.map(\.task.account)
        try await follow(recipients, at: now)
        let held = try await store.registrations(
            of: accounts,
            in: order.sdkAppID,
            laID: order.activity?.laID,
            attributesType: order.activity?.content.start?.attributesType,
        )
        var former: (messageKey: String, acceptedAt: UnixTime)?
        if let digest {
            former = try await store.repeated(digest)
        }
        let obstacles = try await store.obstacles(of: order.sdkAppID)
        return zip(recipients, held).map { recipient, registrations in
            RecipientExplanation(recipient, registrations, order, repeats: former, obstacles: obstacles, at: now)
        }
    }

    /// Whom the message goes to, each with the only installations that get it.
    private func recipients(
        of order: PushOrder,
        _ receipt: AcceptedMessage,
    ) async throws(PostgresError) -> [(account: String, installations: [String]?)] {
        let limit = MessageExplainer.recipientLimit
        guard order.audience != nil else { return order.recipients.prefix(limit).map { ($0, nil) } }
        let chunk = try await audiences.chunk(of: order, receipt, after: "", limit: Int64(limit))
        if chunk.recipients.isEmpty, chunk.next == nil {
            notes.append(
                RecipientExplanation.Note(code: "audience_empty", message: "nobody is in the message's audience")
            )
        }
        if chunk.next != nil {
            let message = "the audience has more; of its first \(limit) candidates each is explained"
            notes.append(RecipientExplanation.Note(code: "audience_cut", message: message))
        }
        return chunk.recipients.map { ($0.account, $0.installations) }
    }

    /// Takes all recipients to their ends, each question to the database for all of them at once.
    private func follow(_ recipients: [ExplainedRecipient], at now: UnixTime) async throws(PostgresError) {
        var waiting: [ExplainedRecipient.Question: [ExplainedRecipient]] = [:]
        func take(_ action: RecipientDelivery.Action, _ recipient: ExplainedRecipient) {
            guard let question = recipient.follow(action, schedule: retrySchedule, at: now) else { return }
            waiting[question, default: []].append(recipient)
        }
        for recipient in recipients {
            take(recipient.task.delivery.start(of: recipient.task.message.underWay, at: now), recipient)
        }
        while let (question, asking) = waiting.first {
            waiting[question] = nil
            let actions =
                switch question {
                case .activities: try await claim(asking, at: now)
                case .starts: try await askForStarts(asking, at: now)
                case .devices: try await lookUpDevices(asking, at: now)
                case .badges: try await countBadges(asking, at: now)
                }
            for (recipient, action) in zip(asking, actions) {
                take(action, recipient)
            }
        }
    }

    private func claim(
        _ recipients: [ExplainedRecipient],
        at now: UnixTime,
    ) async throws(PostgresError) -> [RecipientDelivery.Action] {
        var found = [[ClaimedActivity]](repeating: [], count: recipients.count)
        for hasWaited in [false, true] {
            let places = recipients.indices.filter { recipients[$0].hasWaited == hasWaited }
            guard !places.isEmpty else { continue }
            var pacing = pacing
            if hasWaited { pacing.interval = .zero }
            let claimed = try await store.claim(
                places.compactMap { recipients[$0].task.claim },
                pacing: pacing,
                at: now,
                readsVersions: true,
            )
            for (place, activities) in zip(places, claimed) {
                found[place] = activities
            }
        }
        for (recipient, activities) in zip(recipients, found) {
            for activity in activities where activity.verdict == .claimed {
                recipient.note(
                    RecipientExplanation.ContentVerdict(
                        recipient.task.message.underWay,
                        attributesType: activity.attributesType,
                        appVersion: activity.appVersion,
                        now: now,
                    ),
                    for: activity.installation,
                )
            }
        }
        let tasks = recipients.map(\.task)
        let checked = zip(tasks, found).map { $0.checkingContent(of: $1, at: now) }
        let complete = try await store.addingAlerts(to: checked, of: tasks, at: now)
        return zip(tasks, complete).map { task, registrations in
            task.delivery.activitiesFound(registrations, of: task.message.underWay, schedule: retrySchedule, at: now)
        }
    }

    private func askForStarts(
        _ recipients: [ExplainedRecipient],
        at now: UnixTime,
    ) async throws(PostgresError) -> [RecipientDelivery.Action] {
        let questions = recipients.compactMap { $0.task.startQuestion(at: now) }
        let found = try await store.starts(questions, rules: startRules)
        return zip(recipients, found).map { recipient, starts in
            let task = recipient.task
            for start in starts where start.push != nil {
                recipient.note(
                    RecipientExplanation.ContentVerdict(
                        task.message.underWay,
                        attributesType: task.message.underWay.order.activity?.content.start?.attributesType,
                        appVersion: start.push?.appVersion,
                        now: now,
                    ),
                    for: start.installation,
                )
            }
            return task.delivery.startsFound(
                task.checkingContent(of: starts, at: now),
                of: task.message.underWay,
                schedule: retrySchedule,
                at: now,
            )
        }
    }

    private func lookUpDevices(
        _ recipients: [ExplainedRecipient],
        at now: UnixTime,
    ) async throws(PostgresError) -> [RecipientDelivery.Action] {
        let accounts = recipients.map { ($0.task.message.underWay.order.sdkAppID, $0.task.account) }
        let found = try await store.devices(of: accounts)
        var shown = try await store.shownPushes(replacedBy: recipients.map(\.task))
        for (place, recipient) in recipients.enumerated() where cancelled.contains(recipient.task.account) {
            shown[place]?.areUnderWay = false
        }
        return zip(recipients.indices, found).map { place, devices in
            recipients[place].task.devicesLookedUp(devices, replacing: shown[place], schedule: retrySchedule, at: now)
        }
    }

    private func countBadges(
        _ recipients: [ExplainedRecipient],
        at now: UnixTime,
    ) async throws(PostgresError) -> [RecipientDelivery.Action] {
        let found = try await store.countedDevices(recipients.map(\.task.count), at: now)
        return zip(recipients, found).map { recipient, devices in
            let task = recipient.task
            return task.delivery.devicesFound(devices, of: task.message.underWay, schedule: retrySchedule, at: now)
        }
    }
}
