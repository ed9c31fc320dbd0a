import LiveActivity

/// Lines that are stored in one transaction, and those that are refused among them.
struct ImportBatch: Sendable {
    /// Each line locks its installation until the end of the transaction, and PostgreSQL's table of locks has room for
    /// 6,400 by default.
    static let capacity = 1000

    private(set) var lines: [ImportLine] = []
    private(set) var refusals: [ImportRefusal] = []

    private var accounts: [String: String] = [:]
    private var devices: Set<String> = []
    private var deviceTokens: [PushToken: String] = [:]
    private var activities: Set<ActivityKey> = []
    private var activityTokens: [PushToken: String] = [:]
    private var starts: Set<StartKey> = []
    private var startTokens: [PushToken: String] = [:]
    /// Installations between which a token moves.
    private var contested: Set<String> = []

    private struct ActivityKey: Hashable {
        var installation: String
        var laID: String
    }

    private struct StartKey: Hashable {
        var installation: String
        var attributesType: String
    }

    /// How many lines of the file it stands for.
    var count: Int { lines.count + refusals.count }

    /// Takes in the next line of the file.
    mutating func add(_ record: CSVRecord, columns: ImportColumns, now: UnixTime, businessIDs: Set<Int64>) {
        let fields: CSVRecord.Fields
        switch record.fields {
        case .success(let found): fields = found
        case .failure(let fault):
            return refusals.append(ImportRefusal(line: record.line, field: "", reason: "\(fault)"))
        }
        guard fields.count == columns.count else {
            let reason = "has \(fields.count) fields, the first line has \(columns.count)"
            return refusals.append(ImportRefusal(line: record.line, field: "", reason: reason))
        }
        do throws(RegistrationFault) {
            var line = try ImportRow(fields: fields, columns: columns).line(now: now, businessIDs: businessIDs)
            line.isInTurn = note(line)
            lines.append(line)
        } catch {
            refusals.append(ImportRefusal(line: record.line, field: error.field, reason: error.message))
        }
    }

    /// - Returns: whether a line before this one has something of it.
    private mutating func note(_ line: ImportLine) -> Bool {
        var isInTurn = contested.contains(line.installation)
        if let account = accounts.updateValue(line.account, forKey: line.installation), account != line.account {
            isInTurn = true
        }
        let holder: String?
        switch line.registration {
        case .device(let device):
            if !devices.insert(line.installation).inserted { isInTurn = true }
            holder = deviceTokens.updateValue(line.installation, forKey: device.token)
        case .activity(let activity):
            let key = ActivityKey(installation: line.installation, laID: activity.laID)
            if !activities.insert(key).inserted { isInTurn = true }
            holder = activityTokens.updateValue(line.installation, forKey: activity.token)
        case .start(let start):
            let key = StartKey(installation: line.installation, attributesType: start.attributesType)
            if !starts.insert(key).inserted { isInTurn = true }
            let former = startTokens.updateValue(line.installation, forKey: start.token)
            // The types of an installation may have one token.
            holder = former == line.installation ? nil : former
        }
        if let holder {
            isInTurn = true
            contested.formUnion([holder, line.installation])
        }
        return isInTurn
    }
}

/// A line that is not imported.
public struct ImportRefusal: Sendable, Equatable {
    /// The line it begins in, from 1.
    public let line: Int64
    /// The column at fault; empty if it is the whole line.
    public let field: String
    /// Why, in words. Holds nothing of the line but numbers.
    public let reason: String
}
