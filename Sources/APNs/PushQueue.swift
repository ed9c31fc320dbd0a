import EventLoop

/// The pushes that wait for a stream, oldest first. Those that came back from a connection go before new ones.
struct PushQueue {
    private var returned = Line()
    private var fresh = Line()

    var isEmpty: Bool { returned.isEmpty && fresh.isEmpty }
    var count: Int { returned.count + fresh.count }
    /// The next to leave.
    var first: PendingPush? { returned.first ?? fresh.first }

    mutating func append(_ push: PendingPush) {
        fresh.append(push)
    }

    mutating func putBack(_ push: PendingPush) {
        returned.append(push)
    }

    mutating func popFirst() -> PendingPush? {
        returned.popFirst() ?? fresh.popFirst()
    }

    mutating func takeAll() -> [PendingPush] {
        returned.takeAll() + fresh.takeAll()
    }

    /// What `transform` makes of each, in the order of ``takeAll()``.
    func map<Value>(_ transform: (PendingPush) -> Value) -> [Value] {
        returned.map(transform) + fresh.map(transform)
    }

    /// Removes the pushes that `isMeant` names.
    mutating func take(where isMeant: (PendingPush) -> Bool) -> [PendingPush] {
        let all = takeAll()
        guard all.contains(where: isMeant) else {
            returned = Line(all)
            return []
        }
        returned = Line(all.filter { !isMeant($0) })
        return all.filter(isMeant)
    }

    /// The earliest deadline, nil where nothing waits.
    var earliestDeadline: MonotonicTime? {
        [returned.earliestDeadline, fresh.earliestDeadline].compactMap(\.self).min()
    }

    /// Appends and removes in constant time, amortised, and keeps nothing alive that it has given away.
    private struct Line {
        private var pushes: [PendingPush?]
        private var head = 0

        init(_ pushes: [PendingPush] = []) {
            self.pushes = pushes
        }

        var isEmpty: Bool { head == pushes.count }
        var count: Int { pushes.count - head }
        var first: PendingPush? { isEmpty ? nil : pushes[head] }
        var earliestDeadline: MonotonicTime? { pushes[head...].lazy.compactMap { $0?.deadline }.min() }

        func map<Value>(_ transform: (PendingPush) -> Value) -> [Value] {
            pushes[head...].compactMap { $0.map(transform) }
        }

        mutating func append(_ push: PendingPush) {
            pushes.append(push)
        }

        mutating func popFirst() -> PendingPush? {
            guard head < pushes.count else { return nil }
            let push = pushes[head]
            pushes[head] = nil
            head += 1
            if head == pushes.count {
                pushes.removeAll(keepingCapacity: head <= 1024)
                head = 0
            } else if head >= 1024, head * 2 >= pushes.count {
                pushes.removeFirst(head)
                head = 0
            }
            return push
        }

        mutating func takeAll() -> [PendingPush] {
            defer {
                pushes = []
                head = 0
            }
            return pushes[head...].compactMap(\.self)
        }
    }
}
