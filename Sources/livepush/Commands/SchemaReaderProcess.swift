import Glibc

/// Runs `livepush-schema-reader`, which lies beside this program: it needs libraries of the Swift toolchain, which
/// `livepush` itself does without.
enum SchemaReaderProcess {
    /// The program, as it is built and installed beside this one.
    static var path: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        let own = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (own.lastIndex(of: "/").map { String(own[...$0]) } ?? "") + "livepush-schema-reader"
    }

    /// What the program writes; what it complains about goes to standard error as it is.
    ///
    /// - Parameter consequence: what follows if it could not read the source, for people.
    /// - Throws: ``CommandFailure`` if it cannot be run, or could not read the source.
    static func run(
        _ arguments: [String],
        consequence: String = "nothing is stored",
    ) throws(CommandFailure) -> [UInt8] {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw CommandFailure("no pipe: \(String(cString: strerror(errno)))")
        }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        posix_spawn_file_actions_addclose(&actions, ends[1])
        var words: [UnsafeMutablePointer<CChar>?] = ([self.path] + arguments).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process = pid_t()
        let failure = posix_spawn(&process, self.path, &actions, nil, words, environ)
        close(ends[1])
        guard failure == 0 else {
            throw CommandFailure(
                "\(self.path) cannot be run: \(String(cString: strerror(failure))). It is built with `swift build --product "
                    + "livepush-schema-reader` and runs where a Swift toolchain is; elsewhere, write the schema as JSON there "
                    + "and give it to `livepush schema add`"
            )
        }
        let output = self.contents(of: ends[0])
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1, errno == EINTR {}
        guard status == 0 else { throw CommandFailure("the source was not read; \(consequence)") }
        return output
    }

    private static func contents(of descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count > 0 { bytes.append(contentsOf: chunk.prefix(count)) }
            guard count > 0 || (count < 0 && errno == EINTR) else { return bytes }
        }
    }
}
