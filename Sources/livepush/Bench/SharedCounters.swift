import Glibc
import Synchronization

/// Numbers that the processes of a bench share: a file that each maps into its memory.
///
/// A few counters, then many slots, all 0 at first. Each number has one process that writes it.
///
/// Sendable without the compiler's proof: the pointer never changes, what it points to is atomic, and the memory is
/// mapped until the last reference is gone.
final class SharedCounters: @unchecked Sendable {
    private static let counterCount = 8

    private let memory: UnsafeMutablePointer<Atomic<Int64>>
    private let length: Int
    let slotCount: Int

    /// Opens the file, or makes it if `isNew`.
    init(_ path: String, slots: Int, isNew: Bool = false) throws(CommandFailure) {
        let file = open(path, isNew ? O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw CommandFailure("cannot open \(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        slotCount = slots
        length = (SharedCounters.counterCount + slots) * MemoryLayout<Int64>.stride
        var information = stat()
        guard !isNew || ftruncate(file, length) == 0, fstat(file, &information) == 0, information.st_size == length,
            let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), address != MAP_FAILED
        else { throw CommandFailure("cannot map \(path): \(String(cString: strerror(errno)))") }
        memory = address.bindMemory(to: Atomic<Int64>.self, capacity: SharedCounters.counterCount + slots)
    }

    deinit {
        munmap(memory, length)
    }

    /// A counter, 0 to 7.
    func counter(_ index: Int) -> Int64 {
        memory[index].load(ordering: .acquiring)
    }

    func setCounter(_ index: Int, _ value: Int64) {
        memory[index].store(value, ordering: .releasing)
    }

    func addToCounter(_ index: Int, _ value: Int64 = 1) {
        memory[index].add(value, ordering: .releasing)
    }

    subscript(slot: Int) -> Int64 {
        get { memory[SharedCounters.counterCount + slot].load(ordering: .acquiring) }
        set { memory[SharedCounters.counterCount + slot].store(newValue, ordering: .releasing) }
    }
}

/// What stands where in the files of a bench.
enum BenchCounter {
    /// The sink's file: pushes answered, of which some more than once, and those of nobody.
    static let pushes = 0
    static let duplicates = 1
    static let strays = 2
    /// The sink's file: pushes of the fan-out, each counted once.
    static let fanOutPushes = 3
    /// The driver's file: recipients in answers that said OK, messages refused.
    static let acceptedRecipients = 0
    static let refusedMessages = 1
    /// How far a child is, and how far it may go: 1 after the warm-up, 2 after the measurement.
    static let stage = 3
    static let permittedStage = 4
}
