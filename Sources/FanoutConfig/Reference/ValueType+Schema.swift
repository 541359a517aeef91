// SPDX-License-Identifier: Apache-2.0

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
