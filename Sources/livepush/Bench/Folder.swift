import Glibc

/// Folders of the file system.
enum Folder {
    /// Removes a folder with everything in it; a link in it goes, what it points to stays. What is gone already, or
    /// refuses, is passed over.
    static func remove(_ path: String) {
        for name in names(in: path) {
            let entry = path + "/" + name
            var information = stat()
            guard lstat(entry, &information) == 0 else { continue }
            if information.st_mode & S_IFMT == S_IFDIR {
                remove(entry)
            } else {
                unlink(entry)
            }
        }
        rmdir(path)
    }

    /// The names in a folder, without `.` and `..`; none if it cannot be read.
    static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { name in
                String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
