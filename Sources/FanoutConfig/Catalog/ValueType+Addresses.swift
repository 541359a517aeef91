// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

extension ValueType<Endpoint> {
    private static var remedy: String {
        "write ip:port, such as 192.0.2.1:514 or [2001:db8::1]:514"
    }

    /// `ip:port` or `[ip6]:port`, with a zone if the address needs one.
    static var endpoint: Self {
        let rule = ValueRule(remedy, .string(matching: "^\(Pattern.endpoint)$"))
        return single(rule, yaml: { YAMLWriter.quote($0.description) }, read: endpoint)
    }

    /// The same, or only an address, which then gets the port of `current` unless that is 0.
    static var receiver: Self {
        let rule = ValueRule(
            remedy, .string(matching: "^(\(Pattern.endpoint)|\(Pattern.v4)|\(Pattern.v6))$"))
        return Self(rule: rule) { field, current in
            guard field.isSingle else { return nil }
            if let port = current?.port, port > 0, let address = IPAddress(field.text),
                !address.isLinkLocal, address.zone == nil
            {
                return Endpoint(address, port: port)
            }
            guard let name = HostName(field.text) else { return endpoint(in: field) }
            return field.refuse(
                "\(name.text.quoted) is a name, and the addresses in downstream are not looked up",
                "write dns: {name: \(name.text), port: \(name.port ?? "PORT")} in place of downstream"
            )
        } yaml: {
            YAMLWriter.quote($0.description)
        }
    }

    private static func endpoint(in field: Field) -> Endpoint? {
        do {
            let endpoint = try Endpoint(parsing: field.text)
            if let fault = zoneFault(of: endpoint.address) {
                return field.refuse(fault.what, fault.remedy)
            }
            return endpoint
        } catch {
            switch error {
            case .shape: return field.refuse("\(field.text.quoted) is not ip:port")
            case .address(let text):
                return field.refuse("\(text.quoted) is not an IP address (names are not resolved)")
            case .port(let text):
                return field.refuse(
                    "\(text.quoted) is not a port",
                    "write a number from 1 to 65535 behind the colon")
            }
        }
    }

    /// Link-local addresses need a zone, and only they may have one: the kernel ignores others, so two spellings
    /// would mean one address. `IPAddress` has checked that the zone is a valid interface name.
    private static func zoneFault(of address: IPAddress) -> (what: String, remedy: String)? {
        switch (address.zone, address.isLinkLocal) {
        case (nil, true):
            (
                "\(address) is link-local and names no interface",
                "write [\(address)%eth0]:port with the interface's name"
            )
        case (let zone?, false):
            (
                "\(IPAddress(high: address.high, low: address.low)) is not link-local and takes no zone",
                "write it without %\(zone.printable())"
            )
        default: nil
        }
    }
}

/// A DNS name instead of an address, optionally with a port.
private struct HostName {
    let text: String
    let port: String?

    init?(_ written: String) {
        let parts = written.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, (1...253).contains(name.utf8.count),
            parts.count == 1 || UInt16(parts[1]).map({ $0 > 0 }) == true,
            name.utf8.contains(where: { $0.isLowercase || $0.isUppercase }),
            DNSName.hasLabels(name)
        else { return nil }
        text = String(name)
        port = parts.count == 2 ? String(parts[1]) : nil
    }
}

extension ValueType<IPAddress> {
    /// The address of one destination, without a port.
    static var address: Self {
        let rule = ValueRule(
            "write an IP address, such as 192.0.2.1", .string(matching: Pattern.address))
        return single(rule, yaml: { YAMLWriter.quote($0.description) }) { field in
            guard let address = destination(in: field) else { return nil }
            return address.isMulticastOrBroadcast
                ? field.refuse("\(address) is not the address of one destination") : address
        }
    }

    fileprivate static func destination(in field: Field) -> IPAddress? {
        guard let address = IPAddress(field.text) else {
            let subject = field.node.text.map { "\($0.quoted) " } ?? ""
            return field.refuse("\(subject)is not an IP address")
        }
        return address.zone != nil || address.isWildcard
            ? field.refuse("\(address) is not the address of one destination") : address
    }
}

extension ValueType<ServedAddresses> {
    /// A list of addresses without ports, or `any`.
    static var addresses: Self {
        let rule = ValueRule(
            "write a list of IP addresses without ports, or any",
            [
                "anyOf": [
                    ["const": "any"],
                    ["type": "array", "items": .string(matching: Pattern.address)],
                ]
            ])
        return Self(rule: rule) { field, _ in
            if field.text == "any" { return .any }
            return field.distinctItems(ValueType<IPAddress>.destination).map { .listed($0) }
        } yaml: { addresses in
            switch addresses {
            case .any: "any"
            case .listed(let list):
                "[\(list.map { YAMLWriter.quote($0.description) }.joined(separator: ", "))]"
            }
        }
    }
}

extension ValueType<[UInt16]> {
    /// A list of ports that is not empty.
    static var ports: Self {
        let rule = ValueRule(
            "write a list of numbers from 1 to 65535, such as [5683, 5684]",
            ["type": "array", "items": .integers(in: 1...65535), "minItems": 1])
        return Self(rule: rule) { field, _ in
            if field.node.items?.isEmpty == true { return field.refuse("holds no port") }
            let ports: [UInt16]? = field.distinctItems { item in
                guard !item.isQuoted,
                    let port = NumberFormat.plainDecimal(item.text).flatMap(UInt16.init(exactly:)),
                    port > 0
                else { return item.refuse("\(item.node.text?.quoted ?? "this") is not a port") }
                return port
            }
            return ports?.isEmpty == true ? nil : ports
        } yaml: {
            "\($0)"
        }
    }
}

extension Field {
    /// The values of a list; reports duplicates.
    fileprivate func distinctItems<Value: Hashable>(_ read: (Field) -> Value?) -> [Value]? {
        guard let items else { return nil }
        var seen = Set<Value>()
        return items.compactMap { item in
            guard let value = read(item) else { return nil }
            return seen.insert(value).inserted
                ? value : item.refuse("\(value) stands twice", "remove one of the two")
        }
    }
}

/// Regular expressions of addresses. The parser decides which matching texts are addresses.
private enum Pattern {
    private static let octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    static let v4 = "\(octet)(\\.\(octet)){3}"
    /// With the zone that a link-local address needs.
    static let v6 = #"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[^\]/:%\s]{1,15})?"#
    static let address = "^(\(v4)|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$"
    static let endpoint = "(\(v4)|\\[\(v6)\\]):\(port)"
    private static let port =
        "0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
}
