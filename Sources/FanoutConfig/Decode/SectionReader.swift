// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

/// One mapping of the file, read as a section of the catalog: unknown, repeated and missing keys
/// are reported as it is opened.
struct SectionReader {
    let section: ConfigSection
    /// Of the mapping; its key is the section's path.
    let origin: Origin
    let findings: Findings
    private var fields: [ConfigKey: (key: Origin, value: YAMLNode)] = [:]

    /// - Returns: nil, having said why, when `node` is not a mapping.
    init?(
        _ node: YAMLNode, as section: ConfigSection, at origin: Origin, findings: Findings
    ) {
        guard let members = node.members else {
            let what = node.isNull ? "is empty" : "is not a mapping"
            findings.error(at: origin, what, ValueType.section(section).remedy)
            return nil
        }
        self.section = section
        self.origin = origin
        self.findings = findings
        var firstLines: [String: Int] = [:]
        for (key, value) in members {
            take(key, value, &firstLines)
        }
        for key in section.requiredKeys where fields[key] == nil {
            let place = origin.under(path(of: key.name))
            findings.error(at: place, "is missing", key.type.remedy)
        }
    }

    private mutating func take(
        _ key: YAMLNode, _ value: YAMLNode, _ firstLines: inout [String: Int]
    ) {
        guard let name = key.text else {
            findings.error(
                at: place(of: key, under: origin.key), "a key is not a text",
                unknownKeyRemedy(for: ""))
            return
        }
        let place = place(of: key, under: path(of: name.printable()))
        defer { firstLines[name] = firstLines[name] ?? key.line }
        if let line = firstLines[name] {
            findings.error(
                at: place, "the key stands twice, first on line \(line)", "remove one of the two")
        } else if let known = section.key(named: name) {
            fields[known] = (place, value)
        } else if name == "<<" {
            findings.error(at: place, "merge keys are refused", "write the keys out")
        } else {
            findings.error(at: place, "unknown key", unknownKeyRemedy(for: name))
        }
    }

    func path(of name: String) -> String { origin.key.isEmpty ? name : "\(origin.key).\(name)" }

    func place(of node: YAMLNode, under key: String) -> Origin {
        Origin(file: origin.file, line: node.line, column: node.column, key: key)
    }

    /// Where the key itself stands, when it does.
    func keyOrigin(of key: ConfigKey) -> Origin? { fields[key]?.key }

    /// The value of `key` and its place; nil when the key is not written.
    func value(of key: ConfigKey) -> Located<YAMLNode>? {
        fields[key].map { Located(value: $0.value, origin: place(of: $0.value, under: $0.key.key)) }
    }

    /// The section behind `key`; nil when it is not written or, having said why, not a mapping.
    func reader(for key: ConfigKey) -> SectionReader? {
        guard case .section(let section) = key.type, let field = fields[key] else { return nil }
        return SectionReader(field.value, as: section, at: field.key, findings: findings)
    }

    /// The items of the list behind `key`; nil when it is not written or, having said why, not a
    /// list.
    func items(of key: ConfigKey) -> [Located<YAMLNode>]? {
        guard let field = fields[key] else { return nil }
        guard let sequence = field.value.items else {
            let what = field.value.isNull ? "is empty" : "is not a list"
            findings.error(at: field.key, what, key.type.remedy)
            return nil
        }
        return sequence.enumerated().map { index, node in
            Located(value: node, origin: place(of: node, under: "\(field.key.key)[\(index)]"))
        }
    }

    /// The sections in the list behind `key`, given its items; having said why, what is not a
    /// mapping is left out.
    func readers(for key: ConfigKey, _ items: [Located<YAMLNode>]) -> [SectionReader] {
        guard case .list(let section) = key.type else { return [] }
        return items.compactMap { item in
            SectionReader(item.value, as: section, at: item.origin, findings: findings)
        }
    }
}

extension SectionReader {
    /// `ip:port` whose zone, if any, makes sense.
    func endpoint(_ key: ConfigKey) -> Located<Endpoint>? {
        guard let field = scalar(key) else { return nil }
        do {
            let endpoint = try Endpoint(parsing: field.value.text)
            if let what = Self.zoneFault(of: endpoint.address) {
                findings.error(at: field.origin, what.what, what.remedy)
                return nil
            }
            return Located(value: endpoint, origin: field.origin)
        } catch {
            if key == .downstreamAddress, let name = HostName(field.value.text) {
                findings.error(
                    at: field.origin,
                    "\(name.text.quoted) is a name, and the addresses in downstream are not looked up",
                    "write dns: {name: \(name.text), port: \(name.port ?? "PORT")} in place of downstream"
                )
                return nil
            }
            switch error {
            case .shape: refuse(field.origin, "\(field.value.text.quoted) is not ip:port", key)
            case .address(let text):
                refuse(
                    field.origin, "\(text.quoted) is not an IP address (names are not resolved)",
                    key)
            case .port(let text):
                findings.error(
                    at: field.origin, "\(text.quoted) is not a port",
                    "write a number from 1 to 65535 behind the colon")
            }
            return nil
        }
    }

    /// Link-local addresses need a zone, and only they may have one: the kernel ignores any other,
    /// so two spellings would mean one address.
    private static func zoneFault(of address: IPAddress) -> (what: String, remedy: String)? {
        guard let zone = address.zone else {
            return address.isLinkLocal
                ? (
                    "\(address) is link-local and names no interface",
                    "write [\(address)%eth0]:port with the interface's name"
                ) : nil
        }
        let bare = IPAddress(high: address.high, low: address.low)
        if !address.isLinkLocal {
            return (
                "\(bare) is not link-local and takes no zone",
                "write it without %\(zone.printable())"
            )
        }
        // That the zone has the form of an interface's name was seen to when the address was read.
        return nil
    }

    /// The name of a network interface.
    func interface(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        guard InterfaceName.isValid(text) else {
            refuse(field.origin, "\(text.quoted) is not the name of an interface", key)
            return nil
        }
        return Located(value: text, origin: field.origin)
    }

    /// A list of addresses without ports, or `any`.
    func addresses(_ key: ConfigKey) -> Located<ServedAddresses>? {
        guard let field = value(of: key) else { return nil }
        if field.value.text == "any" {
            return Located(value: .any, origin: field.origin)
        }
        guard let items = items(of: key) else { return nil }
        var addresses: [IPAddress] = []
        var seen = Set<IPAddress>()
        for item in items {
            guard let address = address(item, key) else { continue }
            if seen.insert(address).inserted {
                addresses.append(address)
            } else {
                findings.error(at: item.origin, "\(address) stands twice", "remove one of the two")
            }
        }
        return Located(value: .listed(addresses), origin: field.origin)
    }

    private func address(_ item: Located<YAMLNode>, _ key: ConfigKey) -> IPAddress? {
        guard let text = item.value.text else {
            refuse(item.origin, "is not an IP address", key)
            return nil
        }
        guard let address = IPAddress(text) else {
            refuse(item.origin, "\(text.quoted) is not an IP address", key)
            return nil
        }
        if address.zone != nil || address.isWildcard {
            refuse(item.origin, "\(address) is not the address of one destination", key)
            return nil
        }
        return address
    }
}

/// A name of DNS in the place of an address, with the port behind it if there is one.
private struct HostName {
    let text: String
    let port: String?

    init?(_ written: String) {
        let parts = written.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, (1...253).contains(name.utf8.count),
            parts.count == 1 || UInt16(parts[1]).map({ $0 > 0 }) == true,
            name.unicodeScalars.contains(where: {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0)
            }),
            name.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy {
                        (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                            || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                    }
            })
        else { return nil }
        text = String(name)
        port = parts.count == 2 ? String(parts[1]) : nil
    }
}

/// What Linux takes for the name of an interface (`dev_valid_name` in net/core/dev.c).
enum InterfaceName {
    static func isValid(_ text: String) -> Bool {
        (1...15).contains(text.utf8.count) && text != "." && text != ".."
            && !text.unicodeScalars.contains {
                $0 == "/" || $0 == ":" || $0 == "%" || $0.properties.isWhitespace || $0.isControl
            }
    }
}

extension SectionReader {
    /// A whole number in plain decimal digits, within the range of the catalog; with a unit behind it where the key
    /// has units.
    ///
    /// `012`, `1:30`, `0x10`, `1e3` and `1_000` mean different numbers to different readers of
    /// YAML, so none of them is read.
    func integer(_ key: ConfigKey) -> Located<Int>? {
        guard let field = scalar(key), let range = key.type.range else { return nil }
        let text = field.value.text
        if let number = Self.number(text, units: key.type.units) {
            if range.contains(number) { return Located(value: number, origin: field.origin) }
            refuse(field.origin, "\(text) is out of range", key)
        } else if let number = Self.plainDecimal(text) {
            if field.value.isQuoted {
                findings.error(
                    at: field.origin, "\(text) stands in quotes",
                    range.contains(number) ? "write \(text) without quotes" : key.type.remedy)
            } else if range.contains(number) {
                return Located(value: number, origin: field.origin)
            } else {
                refuse(field.origin, "\(text) is out of range", key)
            }
        } else if text.utf8.allSatisfy({ (48...57).contains($0) }), text.utf8.first != 48 {
            refuse(field.origin, "\(text.printable()) is out of range", key)
        } else {
            let meant = Self.meant(by: text).flatMap { range.contains($0) ? $0 : nil }
            findings.error(
                at: field.origin, "\(text.quoted) is not a number in plain decimal digits",
                meant.map { "write \($0)" } ?? key.type.remedy)
        }
        return nil
    }

    /// Plain decimal digits with one of the units behind them; nil when there is no unit. What exceeds an `Int` is
    /// `Int.max`.
    static func number(_ text: String, units: [(name: String, factor: Int)]) -> Int? {
        for unit in units where text.hasSuffix(unit.name) {
            guard let count = plainDecimal(String(text.dropLast(unit.name.count))) else { continue }
            let (product, overflows) = count.multipliedReportingOverflow(by: unit.factor)
            return overflows ? .max : product
        }
        return nil
    }

    /// Digits without sign, leading zero or anything between; nil too when they exceed an `Int`.
    static func plainDecimal(_ text: String) -> Int? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }),
            text == "0" || text.utf8.first != UInt8(ascii: "0")
        else { return nil }
        return Int(text)
    }

    /// The number that somebody who writes `text` most likely has in mind.
    static func meant(by text: String) -> Int? {
        let bare = text.replacing("_", with: "").replacing("+", with: "").lowercased()
        if bare.hasPrefix("0x") { return Int(bare.dropFirst(2), radix: 16) }
        if bare.hasPrefix("0o") { return Int(bare.dropFirst(2), radix: 8) }
        if bare.hasPrefix("0b") { return Int(bare.dropFirst(2), radix: 2) }
        let parts = bare.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 2, let minutes = Int(parts[0]), let seconds = Int(parts[1]),
            (0..<60).contains(seconds), (0..<100_000).contains(minutes)
        {
            return minutes * 60 + seconds
        }
        if let number = Int(bare) { return number }
        guard bare.utf8.count <= 32, let number = Double(bare) else { return nil }
        return Int(exactly: number)
    }
}
