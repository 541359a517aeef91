// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The JSON Schema of the configuration file, made from the catalog that the reader goes by.
///
/// A schema sees values, not how they are written, and one place at a time. So it refuses less than
/// `udp-fanout check`: the numbers `012` and `1e3`, two listeners of one name or address, and what
/// interfaces and families have to agree on are left to that.
public enum ConfigurationSchema {
    /// JSON Schema 2020-12, as a text that ends with a newline.
    public static var text: String {
        JSONText.object(
            [
                ("$schema", .text("https://json-schema.org/draft/2020-12/schema")),
                ("title", .text("udp-fanout configuration")),
            ] + members(of: .root) + [("$defs", .object(definitions))]
        ).printed
    }

    private static var definitions: [(String, JSONText)] {
        ConfigSection.allCases.filter { $0 != .root }.map { ("\($0)", .object(members(of: $0))) }
    }

    private static func members(of section: ConfigSection) -> [(String, JSONText)] {
        var result: [(String, JSONText)] = [
            ("type", .text("object")),
            (
                "properties",
                .object(section.keys.map { ($0.name, .object($0.schema)) })
            ),
            ("additionalProperties", .boolean(false)),
        ]
        let required = section.requiredKeys.map { JSONText.text($0.name) }
        if !required.isEmpty { result.append(("required", .list(required))) }
        if section == .listener { result.append(("allOf", .list(listenerRules))) }
        return result
    }

    // MARK: What the keys of a listener have to do with each other

    private static var listenerRules: [JSONText] {
        let sources: [ConfigKey] = [
            .listenerDownstream, .listenerKubernetes, .listenerFile, .listenerDNS,
        ]
        let kernelModes = ForwardingMode.allCases.filter(\.needsInterface)
        return [
            .object([
                (
                    "anyOf",
                    .list([demand([.listenerBind]), demand([.listenerVIP, .listenerPorts])])
                )
            ]),
            .object([("oneOf", .list(sources.map { demand([$0]) }))]),
            when(
                kernelModes, then: demand([.listenerInterface]),
                otherwise: refusal([.listenerAddresses])),
            when([.xdpNAT], then: .boolean(true), otherwise: refusal(NATDraft.keys)),
        ]
    }

    private static func when(
        _ modes: [ForwardingMode], then: JSONText, otherwise: JSONText
    ) -> JSONText {
        let words = JSONText.list(modes.map { .text($0.rawValue) })
        let mode = ConfigKey.listenerMode.name
        return .object([
            (
                "if",
                .object([
                    ("properties", .object([(mode, .object([("enum", words)]))])),
                    ("required", .list([.text(mode)])),
                ])
            ),
            ("then", then), ("else", otherwise),
        ])
    }

    private static func demand(_ keys: [ConfigKey]) -> JSONText {
        .object([("required", .list(keys.map { .text($0.name) }))])
    }

    private static func refusal(_ keys: [ConfigKey]) -> JSONText {
        .object([("properties", .object(keys.map { ($0.name, .boolean(false)) }))])
    }
}
