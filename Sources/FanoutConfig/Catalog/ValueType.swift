// SPDX-License-Identifier: Apache-2.0

/// What may stand behind a key.
public enum ValueType: Equatable, Sendable {
    /// Text of 1...128 bytes without control characters.
    case name
    /// Text of 1...512 bytes, of any characters.
    case text
    /// 1...512 bytes: text with escapes, or `hex:` and digits.
    case payload
    /// `ip:port` or `[ip6]:port`.
    case endpoint
    /// The name of a network interface.
    case interface
    /// A whole number in this range, in plain decimal digits.
    case integer(ClosedRange<Int>)
    /// A number of seconds in this range: plain, or with `s`, `m` or `h` behind it.
    case seconds(ClosedRange<Int>)
    /// A number of bytes in this range: plain, or with `KiB`, `MiB` or `GiB` (or `K`, `M`, `G`) behind it.
    case bytes(ClosedRange<Int>)
    /// `true` or `false`.
    case boolean
    /// One of these words.
    case choice([String])
    /// A list of some of these words.
    case choices([String])
    /// A list of IP addresses, or the word `any`.
    case addresses
    /// An IP address without a port.
    case address
    /// A list of ports.
    case ports
    /// Six bytes in hexadecimal, such as `02:00:00:00:00:01`.
    case macAddress
    /// A DNS label as in RFC 1123, section 2.1: 1...63 of `a-z`, `0-9` and inner `-`.
    case dnsLabel
    /// A name of DNS: labels of 1...63 letters, digits, `-` and `_` with dots between them.
    case domainName
    /// A list of such names.
    case domainNames
    /// 1...65535, or a DNS label.
    case servicePort
    /// The path of a URL.
    case urlPath
    /// The absolute path of a unix socket.
    case socketPath
    /// A mapping.
    case section(ConfigSection)
    /// A list of mappings.
    case list(of: ConfigSection)

    /// The numbers that are allowed, for a key that takes one.
    var range: ClosedRange<Int>? {
        switch self {
        case .integer(let range), .seconds(let range), .bytes(let range): range
        default: nil
        }
    }

    /// The units that may follow a number, and how many of the plain unit each is.
    var units: [(name: String, factor: Int)] {
        switch self {
        case .seconds: [("s", 1), ("m", 60), ("h", 3600)]
        case .bytes:
            [
                ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("K", 1 << 10),
                ("M", 1 << 20), ("G", 1 << 30),
            ]
        default: []
        }
    }

    /// What to write, in words that a problem can end with.
    public var remedy: String {
        switch self {
        case .name: "write a name"
        case .text: "write a text of 1 to 512 bytes"
        case .payload: "write a text of 1 to 512 bytes, or hex: and pairs of hexadecimal digits"
        case .endpoint: "write ip:port, such as 192.0.2.1:514 or [2001:db8::1]:514"
        case .interface: "write the name of a network interface, such as eth0"
        case .integer(let range):
            "write a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .seconds(let range):
            "write seconds from \(range.lowerBound) to \(range.upperBound), such as 30, 30s or 2m"
        case .bytes(let range):
            "write bytes from \(range.lowerBound) to \(range.upperBound), such as 9000 or 16KiB"
        case .boolean: "write true or false"
        case .choice(let words): "write " + words.alternatives
        case .choices(let words): "write a list of " + words.alternatives
        case .addresses: "write a list of IP addresses without ports, or any"
        case .address: "write an IP address, such as 192.0.2.1"
        case .ports: "write a list of numbers from 1 to 65535, such as [5683, 5684]"
        case .macAddress: "write six bytes, such as 02:00:00:00:00:01"
        case .dnsLabel: "write lower-case letters, digits and inner '-', at most 63 of them"
        case .domainName: "write a name such as receivers.example.com"
        case .domainNames: "write a list of names such as [node1.example.com]"
        case .servicePort: "write a number from 1 to 65535 or the name of a port of the service"
        case .urlPath: "write a path, such as /metrics"
        case .socketPath: "write an absolute path, such as /run/udp-fanout/control.sock"
        case .section: "write its keys below it, indented"
        case .list: "write a list, each item beginning with '- '"
        }
    }
}

extension [String] {
    /// `a, b or c`.
    var alternatives: String {
        count < 2 ? first ?? "" : dropLast().joined(separator: ", ") + " or " + self[count - 1]
    }
}

// Patterns mean the same to ECMA-262 (JSON Schema 2020-12, section 6.4), RE2, which Helm has, and Python: no
// look-ahead, no \p and no \u.

extension ValueType {
    /// The rules of the type, as members of a JSON Schema.
    var schema: [(String, JSONText)] {
        switch self {
        case .name:
            Self.scalar + [
                ("minLength", .integer(1)), ("maxLength", .integer(128)),
                ("pattern", .text("^[^\(Self.unseen)]+$")),
            ]
        case .text: Self.scalar + [("minLength", .integer(1)), ("maxLength", .integer(512))]
        // Each byte takes up to four characters.
        case .payload: Self.scalar + [("minLength", .integer(1)), ("maxLength", .integer(2048))]
        case .endpoint: Self.string(matching: "^(\(Self.v4)|\\[\(Self.v6)\\]):\(Self.port)$")
        case .interface:
            Self.scalar + [
                ("minLength", .integer(1)), ("maxLength", .integer(15)),
                ("pattern", .text(#"^[^/:%\s]+$"#)),
            ]
        case .integer(let range):
            [
                ("type", .text("integer")), ("minimum", .integer(range.lowerBound)),
                ("maximum", .integer(range.upperBound)),
            ]
        case .seconds(let range), .bytes(let range):
            [
                (
                    "anyOf",
                    .list([
                        .object(ValueType.integer(range).schema),
                        .object(
                            Self.string(
                                matching: "^(0|[1-9][0-9]*)("
                                    + units.map(\.name).joined(separator: "|") + ")$")),
                    ])
                )
            ]
        case .boolean: [("type", .text("boolean"))]
        case .choice(let words): [("enum", .list(words.map(JSONText.text)))]
        case .choices(let words): Self.array(of: ValueType.choice(words).schema)
        case .addresses:
            [
                (
                    "anyOf",
                    .list([
                        .object([("const", .text("any"))]),
                        .object(Self.array(of: ValueType.address.schema)),
                    ])
                )
            ]
        case .address: Self.string(matching: Self.addressPattern)
        case .ports:
            Self.array(of: ValueType.integer(1...65535).schema) + [("minItems", .integer(1))]
        case .macAddress: Self.string(matching: "^[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}$")
        case .dnsLabel:
            Self.scalar + [("pattern", .text(Self.label)), ("maxLength", .integer(63))]
        case .domainName:
            Self.scalar + [
                ("pattern", .text(#"^[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?$"#)),
                ("maxLength", .integer(254)),
            ]
        case .domainNames: Self.array(of: ValueType.domainName.schema)
        case .servicePort:
            [
                (
                    "anyOf",
                    .list([
                        .object(ValueType.integer(1...65535).schema),
                        .object([
                            ("type", .text("string")), ("maxLength", .integer(63)),
                            ("pattern", .text(Self.label)),
                            ("allOf", .list([.object([("pattern", .text("[a-z]"))])])),
                        ]),
                    ])
                )
            ]
        case .urlPath: Self.string(matching: "^/[!\"$->@-~]*$") + [("maxLength", .integer(1024))]
        case .socketPath: Self.string(matching: "^/.*[^/]$") + [("maxLength", .integer(96))]
        case .section(let section): [("$ref", .text("#/$defs/\(section)"))]
        case .list(let section): Self.array(of: [("$ref", .text("#/$defs/\(section)"))])
        }
    }

    /// `ip:port`, or an address alone.
    static var endpointOrAddressPattern: String {
        "^((\(v4)|\\[\(v6)\\]):\(port)|\(v4)|\(v6))$"
    }

    /// Controls and directional marks, as members of a class.
    private static let unseen =
        "\\x00-\\x1f\\x7f-\\x9f\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{2064}\u{feff}"
    private static let octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    private static let v4 = "\(octet)(\\.\(octet)){3}"
    /// With the zone that a link-local address needs. Which of these texts are addresses the reader says.
    private static let v6 = #"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%[^\]/:%\s]{1,15})?"#
    private static let addressPattern = "^(\(v4)|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$"
    private static let port =
        "0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
    private static let label = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"

    /// What the reader takes as text although YAML sees a number or a boolean in it.
    private static let scalar: [(String, JSONText)] = [
        ("type", .list([.text("string"), .text("number"), .text("boolean")]))
    ]

    private static func string(matching pattern: String) -> [(String, JSONText)] {
        [("type", .text("string")), ("pattern", .text(pattern))]
    }

    private static func array(of item: [(String, JSONText)]) -> [(String, JSONText)] {
        [
            ("type", .text("array")), ("items", .object(item)),
        ]
    }
}
