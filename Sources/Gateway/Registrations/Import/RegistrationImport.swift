public import PostgresClient

/// Reads registrations out of a CSV file into the database, in constant memory.
///
/// Each batch is stored in one transaction together with how far it reaches, so that an import that was interrupted goes
/// on there. A stream has no such memory; to read it again does no harm, since what is there already is left alone.
public final class RegistrationImport {
    /// What to import, and how.
    public struct Options: Sendable {
        /// The app whose phones these are.
        public var sdkAppID: Int64
        /// Overwrite also what phones registered themselves.
        public var replaces: Bool
        /// Begin anew with a file that was imported before.
        public var isAnew: Bool

        /// Makes options.
        public init(sdkAppID: Int64, replaces: Bool, isAnew: Bool) {
            self.sdkAppID = sdkAppID
            self.replaces = replaces
            self.isAnew = isAnew
        }
    }

    /// What a run found or did.
    public enum Event: Sendable, Equatable {
        /// The same file was imported to its end before; nothing is done.
        case finishedBefore(ImportCounts)
        /// It goes on where an earlier run stopped.
        case resumed(line: Int64)
        /// So much is stored by now.
        case advanced(ImportCounts)
        /// The end was reached.
        case finished(ImportCounts)
    }

    private static let linesPerAdvance: Int64 = 100_000

    private let options: Options
    private let file: ImportFile
    private let report: RefusalReport
    private let store: ImportStore
    private let tell: (Event) -> Void

    /// - Parameters:
    ///   - report: takes the refused lines.
    ///   - connection: one that nothing else uses.
    ///   - tell: called as it goes on.
    public init(
        _ options: Options,
        of file: ImportFile,
        report: RefusalReport,
        in connection: PostgresConnection,
        tell: @escaping (Event) -> Void,
    ) {
        self.options = options
        self.file = file
        self.report = report
        self.store = ImportStore(connection: connection, sdkAppID: options.sdkAppID)
        self.tell = tell
    }

    /// Imports the file, or what is left of it.
    ///
    /// - Throws: ``ImportError`` or `PostgresError`; what was stored before stays, and a next run goes on after it.
    public func run() async throws {
        guard !file.isSame(as: report.path) else {
            throw ImportError("the report would be written over \(file.path), the file to import")
        }
        let rules = try await store.begin()
        var identity: ImportStore.Identity?
        if let size = file.size {
            identity = ImportStore.Identity(digest: try file.digest(), size: size, path: file.path)
        }
        var reader = CSVReader()
        let columns = try ImportColumns(try next(&reader))
        var progress = ImportStore.Progress(bytesDone: reader.offset, linesDone: reader.line - 1)
        if let identity {
            let known = try await store.progress(of: identity, isAnew: options.isAnew)
            if known.isFinished { return tell(.finishedBefore(known.counts)) }
            if known.bytesDone > 0 {
                progress = known
                reader = CSVReader(line: known.linesDone + 1, offset: known.bytesDone)
                try file.seek(to: known.bytesDone)
                tell(.resumed(line: reader.line))
            }
        }
        try report.begin(at: progress.reportBytes)
        var told = progress.counts.total
        while true {
            var batch = ImportBatch()
            while batch.count < ImportBatch.capacity, let record = try next(&reader) {
                batch.add(record, columns: columns, now: rules.now, businessIDs: rules.businessIDs)
            }
            guard batch.count > 0 else { break }
            try report.add(batch.refusals)
            progress.bytesDone = reader.offset
            progress.linesDone = reader.line - 1
            progress.reportBytes = report.size
            progress.counts.refused += Int64(batch.refusals.count)
            try await store.store(batch, replaces: options.replaces, progress: &progress, of: identity)
            if progress.counts.total - told >= RegistrationImport.linesPerAdvance {
                told = progress.counts.total
                tell(.advanced(progress.counts))
            }
        }
        if let identity { try await store.finish(identity) }
        tell(.finished(progress.counts))
    }

    /// The next record; nil at the end.
    private func next(_ reader: inout CSVReader) throws(ImportError) -> CSVRecord? {
        while true {
            if let record = reader.next(isLast: isAtEnd) { return record }
            if isAtEnd { return nil }
            let bytes = try file.read()
            isAtEnd = bytes.isEmpty
            reader.append(bytes)
        }
    }

    private var isAtEnd = false
}
