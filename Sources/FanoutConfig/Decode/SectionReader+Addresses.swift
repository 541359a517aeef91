// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

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
