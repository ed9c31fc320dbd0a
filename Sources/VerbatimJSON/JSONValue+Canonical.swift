extension JSONValue {
    /// Appends the value in a form that tells it from every other, and in which white space, the way a string is escaped
    /// and the order of an object's members do not show; how a number is written does.
    ///
    /// Each part comes with its kind and its length before it, so that parts cannot run together. It is no JSON, and
    /// nothing but comparing is to be done with it.
    public func appendCanonical(to output: inout [UInt8]) {
        self.withNodes { bytes, nodes, index in
            var writer = CanonicalWriter(bytes: bytes, nodes: nodes, output: output)
            // Else the writer's first byte would copy the caller's array.
            output = []
            writer.append(index)
            output = writer.output
        }
    }
}

/// At the bytes and nodes themselves: a value of its own for each member would cost more than what is written.
private struct CanonicalWriter {
    private enum Kind: UInt8 {
        case text, list, object, other
    }

    let bytes: UnsafeBufferPointer<UInt8>
    let nodes: UnsafeBufferPointer<JSONNode>
    var output: [UInt8]

    mutating func append(_ index: Int) {
        let node = self.nodes[index]
        switch node.kind {
        case .string: self.append(.text, self.bytes[node.contentRange])
        case .escapedString: self.append(.text, JSONEscape.decode(Array(self.bytes[node.contentRange])[...])[...])
        case .array: self.appendElements(of: index, until: Int(node.next))
        case .object: self.appendMembers(of: index, until: Int(node.next))
        case .number, .literalTrue, .literalFalse, .literalNull: self.append(.other, self.bytes[node.range])
        }
    }

    private mutating func appendElements(of array: Int, until end: Int) {
        let start = self.output.count
        self.append(.list, 0)
        var (element, count) = (array + 1, 0)
        while element < end {
            self.append(element)
            count += 1
            element = Int(self.nodes[element].next)
        }
        self.setCount(count, at: start)
    }

    private mutating func appendMembers(of object: Int, until end: Int) {
        var (name, count) = (object + 1, 0)
        while name < end {
            count += 1
            name = Int(self.nodes[name + 1].next)
        }
        self.append(.object, count)
        // On the stack, unless they are many: every object of every message comes by here.
        withUnsafeTemporaryAllocation(of: Int.self, capacity: count) { names in
            var (name, isSorted) = (object + 1, true)
            for position in 0..<count {
                names.initializeElement(at: position, to: name)
                isSorted = isSorted && (position == 0 || self.precedes(names[position - 1], name))
                name = Int(self.nodes[name + 1].next)
            }
            if !isSorted {
                var names = names
                names.sort { self.precedes($0, $1) }
            }
            for name in names {
                self.append(name)
                self.append(name + 1)
            }
        }
    }

    /// Whether one name comes before another in the order of their bytes.
    private func precedes(_ first: Int, _ second: Int) -> Bool {
        let (first, second) = (self.nodes[first], self.nodes[second])
        guard first.kind != .escapedString, second.kind != .escapedString else {
            return self.decoded(first).lexicographicallyPrecedes(self.decoded(second))
        }
        return self.bytes[first.contentRange].lexicographicallyPrecedes(self.bytes[second.contentRange])
    }

    private func decoded(_ node: JSONNode) -> [UInt8] {
        let content = Array(self.bytes[node.contentRange])
        return node.kind == .escapedString ? Array(JSONEscape.decode(content[...])) : content
    }

    // MARK: - Parts

    private mutating func append(_ kind: Kind, _ content: some Collection<UInt8>) {
        self.append(kind, content.count)
        self.output.append(contentsOf: content)
    }

    private mutating func append(_ kind: Kind, _ count: Int) {
        self.output.append(kind.rawValue)
        withUnsafeBytes(of: UInt64(count).bigEndian) { self.output.append(contentsOf: $0) }
    }

    /// Puts the count that was not known yet into the head at `start`.
    private mutating func setCount(_ count: Int, at start: Int) {
        withUnsafeBytes(of: UInt64(count).bigEndian) { bytes in
            self.output.replaceSubrange(start + 1..<start + 9, with: bytes)
        }
    }
}
