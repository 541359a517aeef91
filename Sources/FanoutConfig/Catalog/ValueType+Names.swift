// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import YAML

// Patterns have the same meaning in ECMA-262 (JSON Schema 2020-12, section 6.4), RE2 (used by Helm) and Python: no
// look-ahead, no \p and no \u.

extension ValueType<String> {
    private static func text(
        _ rule: ValueRule, read: @escaping @Sendable (Field) -> String?
    ) -> Self {
        single(rule, yaml: { YAMLWriter.quote($0) }, read: read)
    }

    /// - Parameter read: returns the text to keep, or nil if it is invalid.
    private static func text(
        _ remedy: String, _ schema: JSONText, fault: String,
        read: @escaping @Sendable (String) -> String?
    ) -> Self {
        text(ValueRule(remedy, schema)) { read($0.text) ?? $0.refuse("\($0.text.quoted) \(fault)") }
    }

    /// 1...128 bytes without control characters.
    static var name: Self {
        let unseen =
            "\\x00-\\x1f\\x7f-\\x9f\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{2064}\u{feff}"
        let rule = ValueRule(
            "write a name",
            .scalar + ["minLength": 1, "maxLength": 128, "pattern": "^[^\(unseen)]+$"])
        return text(rule) { field in
            let text = field.text
            if let scalar = text.unicodeScalars.first(where: \.isControl) {
                return field.refuse(
                    "\(text.quoted) holds the control character \(scalar.codePoint)",
                    "write the name without it")
            }
            return text.utf8.count <= 128
                ? text
                : field.refuse(
                    "is \(text.utf8.count) bytes long", "write a name of at most 128 bytes")
        }
    }

    /// 1...512 bytes of any characters.
    static var text: Self {
        let rule = ValueRule(
            "write a text of 1 to 512 bytes", .scalar + ["minLength": 1, "maxLength": 512])
        return text(rule) { field in
            let count = field.text.utf8.count
            return count <= 512 ? field.text : field.refuse("is \(count) bytes long")
        }
    }

    /// The payload of a probe as configured: see `PayloadText`.
    static var payload: Self {
        let rule = ValueRule(
            "write a text of 1 to 512 bytes, or hex: and pairs of hexadecimal digits",
            // Each byte takes up to four characters.
            .scalar + ["minLength": 1, "maxLength": 2048])
        return text(rule) { field in
            do throws(PayloadText.Fault) {
                _ = try PayloadText.bytes(of: field.text)
            } catch {
                return field.refuse(error.what, error.remedy)
            }
            // YAML's own escapes name characters.
            if case .scalar(let text, .doubleQuoted) = field.node.content,
                text.unicodeScalars.contains(where: { (0x80...0xff).contains($0.value) })
            {
                field.findings.warning(
                    at: field.origin,
                    #"in double quotes \x80 to \xff are characters, which are two bytes each"#,
                    "write it in single quotes, or as hex:")
            }
            return field.text
        }
    }

    /// The name of a network interface.
    static var interface: Self {
        text(
            "write the name of a network interface, such as eth0",
            .scalar + ["minLength": 1, "maxLength": 15, "pattern": #"^[^/:%\s]+$"#],
            fault: "is not the name of an interface"
        ) { InterfaceName.isValid($0) ? $0 : nil }
    }

    /// Six bytes, separated by `:` or `-`; read as lower case with `:`.
    static var macAddress: Self {
        text(
            "write six bytes, such as 02:00:00:00:00:01",
            .string(matching: "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$"),
            fault: "is not a MAC address"
        ) { text in
            let parts = text.replacing("-", with: ":").split(
                separator: ":", omittingEmptySubsequences: false)
            let areBytes = parts.allSatisfy { $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) }
            return parts.count == 6 && areBytes ? parts.joined(separator: ":").lowercased() : nil
        }
    }

    /// A DNS label (RFC 1123, section 2.1), as Kubernetes names namespaces and services.
    static var dnsLabel: Self {
        text(
            "write lower-case letters, digits and inner '-', at most 63 of them",
            .scalar + ["pattern": .dnsLabel, "maxLength": 63], fault: "is not a DNS label"
        ) { DNSName.isLabel($0) ? $0 : nil }
    }

    /// A DNS name, not an address.
    static var domainName: Self {
        text(ValueRule("write a name such as receivers.example.com", .domainName)) { field in
            guard let name = DNSName.canonical(field.text) else {
                return field.refuse("\(field.text.quoted) is not a name of DNS")
            }
            guard IPAddress(name) == nil else {
                return field.refuse("\(name) is an address and needs no DNS", "write downstream")
            }
            return name
        }
    }

    /// The path of a URL, for metrics.
    static var metricsPath: Self {
        let taken = ["/healthz", "/readyz"]
        return path(
            "write a path, such as /metrics",
            .string(matching: "^/[!\"$->@-~]*$")
                + ["maxLength": 1024, "not": ["enum": .words(taken)]],
            faults: [
                ("is where the daemon answers health checks", { taken.contains($0) }),
                (
                    "holds blanks or characters other than printable ASCII",
                    { $0.utf8.contains { $0 <= 0x20 || $0 >= 0x7f } }
                ),
                ("holds a query or a fragment", { $0.contains("?") || $0.contains("#") }),
                ("is longer than 1024 bytes", { $0.utf8.count > 1024 }),
            ])
    }

    /// The absolute path of a unix socket, with room for the suffix of a file beside it: sun_path of unix(7) has
    /// 108 bytes.
    static var socketPath: Self {
        path(
            "write an absolute path, such as /run/udp-fanout/control.sock",
            .string(matching: "^/.*[^/]$") + ["maxLength": 96],
            faults: [
                ("is a folder", { $0.hasSuffix("/") }),
                ("holds control characters", { $0.unicodeScalars.contains(where: \.isControl) }),
                ("is longer than 96 bytes", { $0.utf8.count > 96 }),
            ])
    }

    private static func path(
        _ remedy: String, _ schema: JSONText,
        faults: [(what: String, applies: @Sendable (String) -> Bool)]
    ) -> Self {
        text(ValueRule(remedy, schema)) { field in
            let text = field.text
            guard text.hasPrefix("/") else {
                return field.refuse("\(text.quoted) does not begin with /")
            }
            guard let fault = faults.first(where: { $0.applies(text) }) else { return text }
            return field.refuse("\(text.quoted) \(fault.what)")
        }
    }
}

extension ValueType<[String]> {
    /// A list of DNS names.
    static var domainNames: Self {
        list(
            "write a list of names such as [node1.example.com]", of: .domainName,
            yaml: YAMLWriter.quote
        ) { item in
            item.node.text.flatMap(DNSName.canonical)
                ?? item.refuse("\(item.node.text?.quoted ?? "this") is not a name of DNS")
        }
    }
}

extension ValueType<ReceiverPort> {
    /// A port number, or the name of a port: a DNS label with at least one letter.
    static var servicePort: Self {
        let rule = ValueRule(
            "write a number from 1 to 65535 or the name of a port of the service",
            [
                "anyOf": [
                    .integers(in: 1...65535),
                    [
                        "type": "string", "maxLength": 63, "pattern": .dnsLabel,
                        "allOf": [["pattern": "[a-z]"]],
                    ],
                ]
            ])
        return single(rule) { port in
            switch port {
            case .number(let number): "\(number)"
            case .name(let name): YAMLWriter.quote(name)
            case .any: nil
            }
        } read: { field in
            let text = field.text
            let likely = NumberFormat.likely(text)
            if text.utf8.contains(where: \.isLowercase), likely == nil {
                return DNSName.isLabel(text)
                    ? .name(text) : field.refuse("\(text.quoted) is not a port")
            }
            let plain = NumberFormat.plainDecimal(text)
            guard let number = plain ?? likely, (1...65535).contains(number) else {
                return field.refuse("\(text.quoted) is not a port")
            }
            guard plain != nil, !field.isQuoted else {
                return field.refuse(
                    "\(text.quoted) is not a number in plain decimal digits",
                    "write \(number)" + (field.isQuoted ? " without quotes" : ""))
            }
            return .number(UInt16(number))
        }
    }
}

/// DNS names (RFC 1035, section 2.3.4), in which `_` is allowed (RFC 2782).
enum DNSName {
    /// In lower case, without a final dot; nil if it is no name.
    static func canonical(_ written: String) -> String? {
        let text = written.hasSuffix(".") ? written.dropLast() : written[...]
        return hasLabels(text) && text.utf8.count <= 253 ? text.lowercased() : nil
    }

    static func hasLabels(_ text: Substring) -> Bool {
        text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy {
                    $0.isDigit || $0.isLowercase || $0.isUppercase || "-_".utf8.contains($0)
                }
        }
    }

    static func isLabel(_ text: String) -> Bool {
        let (bytes, dash) = (text.utf8, UInt8(ascii: "-"))
        return (1...63).contains(bytes.count) && bytes.first != dash && bytes.last != dash
            && bytes.allSatisfy { $0.isLowercase || $0.isDigit || $0 == dash }
    }
}

/// A valid interface name on Linux (`dev_valid_name` in net/core/dev.c).
enum InterfaceName {
    static func isValid(_ text: String) -> Bool {
        (1...15).contains(text.utf8.count) && text != "." && text != ".."
            && !text.unicodeScalars.contains {
                $0 == "/" || $0 == ":" || $0 == "%" || $0.properties.isWhitespace || $0.isControl
            }
    }
}

extension JSONText {
    fileprivate static let dnsLabel: JSONText = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
    fileprivate static let domainName =
        scalar + [
            "pattern": #"^[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?$"#, "maxLength": 254,
        ]
}
