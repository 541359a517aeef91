// SPDX-License-Identifier: Apache-2.0

/// The sections of a 64-bit little-endian ELF file (elf(5)): enough to see what the build embeds.
struct ELFFile {
    let bytes: [UInt8]
    /// Where each section lies in the file.
    let sections: [String: Range<Int>]

    /// nil when a header or a section reaches past the end.
    init?(_ bytes: [UInt8]) {
        func field(_ offset: Int, _ size: Int) -> Int? {
            guard offset >= 0, offset + size <= bytes.count else { return nil }
            return bytes[offset..<offset + size].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        guard bytes.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]), let table = field(0x28, 8),
            let entrySize = field(0x3a, 2), let count = field(0x3c, 2), let names = field(0x3e, 2)
        else { return nil }

        func range(ofSection index: Int) -> Range<Int>? {
            let header = table + index * entrySize
            guard let type = field(header + 4, 4), let start = field(header + 0x18, 8),
                let size = field(header + 0x20, 8)
            else { return nil }
            // SHT_NOBITS has a size but no bytes.
            return type == 8 ? start..<start : start..<start + size
        }
        guard let strings = range(ofSection: names), strings.upperBound <= bytes.count else {
            return nil
        }
        var sections: [String: Range<Int>] = [:]
        for index in 0..<count {
            guard let name = field(table + index * entrySize, 4),
                let range = range(ofSection: index),
                range.upperBound <= bytes.count
            else { return nil }
            let text = bytes[strings].dropFirst(name).prefix { $0 != 0 }
            sections[String(decoding: text, as: UTF8.self)] = range
        }
        self.bytes = bytes
        self.sections = sections
    }

    /// The content of a section; nil when there is none of this name.
    func contents(of section: String) -> ArraySlice<UInt8>? { sections[section].map { bytes[$0] } }
}
