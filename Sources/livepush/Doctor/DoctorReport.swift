/// What `livepush doctor` found, printed line by line as it is found.
struct DoctorReport: Sendable {
    private(set) var failures = 0
    private(set) var warnings = 0

    mutating func ok(_ subject: String, _ text: String) {
        print("ok  ", subject, text)
    }

    /// Something that works, and that a person should know.
    mutating func warn(_ subject: String, _ text: String) {
        warnings += 1
        print("warn", subject, text)
    }

    /// Something that keeps pushes from going out.
    mutating func fail(_ subject: String, _ text: String) {
        failures += 1
        print("FAIL", subject, text)
    }

    private func print(_ word: String, _ subject: String, _ text: String) {
        // One line, whatever a server put into its words.
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        StandardOutput.write("\(word)  \(subject): \(line)\n")
    }
}
