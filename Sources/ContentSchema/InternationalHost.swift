/// Whether a host name with letters beyond ASCII can be turned into ASCII (UTS 46), as far as that can be told without
/// Unicode's tables for it: the form of the labels and the categories of the characters.
enum InternationalHost {
    static func isAccepted(_ host: ArraySlice<UInt8>) -> Bool {
        let ascii = host.filter { $0 < 0x80 }
        guard URLText.isName(ascii[...]) else { return false }
        let scalars = String(decoding: host, as: UTF8.self).unicodeScalars.filter { !Self.isIgnored($0) }
        let labels = scalars.split(omittingEmptySubsequences: false) { Self.dots.contains($0) }
        for (position, label) in labels.enumerated() {
            if label.isEmpty {
                // Only the root's, behind a last dot.
                guard position == labels.count - 1, position > 0, !(labels[position - 1].isEmpty) else { return false }
                continue
            }
            guard Self.isLabel(Array(label)) else { return false }
        }
        return true
    }

    private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

    private static func isIgnored(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00AD, 0x2060, 0xFE00...0xFE0F, 0xFEFF: true
        default: false
        }
    }

    private static func isLabel(_ label: [Unicode.Scalar]) -> Bool {
        guard label.count <= 59, label.first != "-", label.last != "-", label.count < 4 || label[2...3] != ["-", "-"],
            label.allSatisfy(Self.isAllowed)
        else { return false }
        switch label.first?.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return false
        default: break
        }
        // Letters that are written from right to left are not mixed with others.
        guard label.contains(where: Self.isRightToLeft) else { return true }
        return label.first.map(Self.isRightToLeft) == true
            && label.allSatisfy { Self.isRightToLeft($0) || !$0.properties.isAlphabetic }
    }

    private static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0590...0x08FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFC: true
        default: false
        }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return true }
        switch scalar.value {
        case 0xFF01...0xFF5E: return UInt8(exactly: scalar.value - 0xFEE0).map(\.isNameCharacter) ?? false
        case 0x200C, 0x200D, 0x2024...0x2026, 0xFE50...0xFE6F, 0xFFFC, 0xFFFD: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
            .paragraphSeparator:
            return false
        default:
            return true
        }
    }
}
