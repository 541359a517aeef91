// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The JSON Schema of the configuration file, generated from the decoding tables.
///
/// A schema sees values, not their spelling, and one place at a time, so it accepts more than `udp-fanout check`.
/// It cannot refuse the numbers `012` and `1e3`, two listeners with the same name or address, or conflicts of
/// interfaces and families.
public enum ConfigurationSchema {
    /// JSON Schema 2020-12, as a text that ends with a newline.
    public static var text: String {
        let head: JSONText = [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "udp-fanout configuration",
        ]
        let definitions = ConfigSection.all.filter { !$0.isRoot }.map { ($0.name, rule(of: $0)) }
        return (head + rule(of: Configuration.section.outline) + ["$defs": .object(definitions)])
            .printed
    }

    private static func rule(of section: ConfigSection) -> JSONText {
        let required = section.keys.filter { $0.defaultValue == .required }.map(\.name)
        var rule: JSONText = [
            "type": "object",
            "properties": .object(section.keys.map { ($0.name, $0.schema) }),
            "additionalProperties": false,
        ]
        if !required.isEmpty { rule = rule + ["required": .words(required)] }
        if section.name == ListenerConfiguration.section.outline.name {
            rule = rule + ["allOf": .list(listenerRules)]
        }
        return rule
    }

    // MARK: Rules that span keys of a listener

    private static var listenerRules: [JSONText] {
        let kernelModes = ForwardingMode.allCases.filter(\.needsInterface)
        return [
            ["anyOf": [demand([\.singleBind]), demand([\.vip, \.ports])]],
            [
                "oneOf": .list(
                    ([\.downstreams] + ListenerConfiguration.lookups).map { demand([$0]) })
            ],
            when(kernelModes, then: demand([\.interface]), otherwise: refusal([\.addresses])),
            when([.xdpNAT], then: true, otherwise: refusal(ListenerConfiguration.natKeys)),
        ]
    }

    private static func when(
        _ modes: [ForwardingMode], then: JSONText, otherwise: JSONText
    ) -> JSONText {
        let mode = names([\.mode])[0]
        return [
            "if": [
                "properties": [mode: ["enum": .words(modes.map(\.rawValue))]],
                "required": .words([mode]),
            ],
            "then": then, "else": otherwise,
        ]
    }

    private static func demand(_ paths: [PartialKeyPath<ListenerConfiguration>]) -> JSONText {
        ["required": .words(names(paths))]
    }

    private static func refusal(_ paths: [PartialKeyPath<ListenerConfiguration>]) -> JSONText {
        ["properties": .object(names(paths).map { ($0, false) })]
    }

    private static func names(_ paths: [PartialKeyPath<ListenerConfiguration>]) -> [String] {
        paths.map { ListenerConfiguration.section.key($0).name }
    }
}

extension ConfigKey {
    /// The type, purpose and default of the key.
    fileprivate var schema: JSONText {
        switch defaultValue {
        case .required: rule.schema + ["description": .text(meaning)]
        case .absent(let words):
            rule.schema + ["description": "\(meaning) Default: \(words)."]
        case .value(let text):
            rule.schema + ["description": .text(meaning), "default": Self.json(text)]
        }
    }

    private static func json(_ text: String) -> JSONText {
        switch text {
        case "true", "false": .boolean(text == "true")
        default: Int(text).map(JSONText.integer) ?? .text(text)
        }
    }
}
