import Glibc

/// The system's random numbers, a supply at a time: one number would be a system call for every message.
struct BufferedRandomNumberGenerator: RandomNumberGenerator {
    /// As many as `getentropy` gives at once: 256 bytes.
    private static let supply = 32

    private var system = SystemRandomNumberGenerator()
    private var numbers: [UInt64] = []

    mutating func next() -> UInt64 {
        if let number = numbers.popLast() { return number }
        // One call for all of them, where `system.next()` is one for each.
        numbers = [UInt64](unsafeUninitializedCapacity: Self.supply) { buffer, count in
            count = Self.supply
            guard getentropy(buffer.baseAddress, count * MemoryLayout<UInt64>.stride) != 0 else { return }
            for index in 0..<count { buffer[index] = system.next() }
        }
        return numbers.removeLast()
    }
}
