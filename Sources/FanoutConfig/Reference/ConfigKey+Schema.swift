// SPDX-License-Identifier: Apache-2.0

extension ConfigKey {
    /// What may stand behind the key, what it is for, and what holds without it.
    var schema: [(String, JSONText)] {
        var members = rule
        switch defaultValue {
        case .required: members.append(("description", .text(meaning)))
        case .absent(let words):
            members.append(("description", .text("\(meaning) Unless written: \(words).")))
        case .value(let text):
            members.append(("description", .text(meaning)))
            members.append(("default", type.json(text)))
        }
        return members
    }

    private var rule: [(String, JSONText)] {
        switch self {
        // In mode xdp_nat an address alone has the port of the listener.
        case .downstreamAddress:
            [("type", .text("string")), ("pattern", .text(ValueType.endpointOrAddressPattern))]
        case .listenerBalance:
            // Two spellings of other systems beside the words of this one.
            [("enum", .list((type.words + ["roundrobin", "iphash"]).map(JSONText.text)))]
        case .listeners: type.schema + [("minItems", .integer(1))]
        case .listenerDownstream: type.schema + [("minItems", .integer(1))]
        case .metricsPath:
            type.schema + [
                (
                    "not",
                    .object([("enum", .list(SectionReader.takenPaths.map(JSONText.text)))])
                )
            ]
        default: type.schema
        }
    }
}

extension ValueType {
    fileprivate var words: [String] {
        if case .choice(let words) = self { words } else { [] }
    }

    /// The value that a default stands for.
    fileprivate func json(_ text: String) -> JSONText {
        switch self {
        case .integer, .seconds, .bytes: Int(text).map(JSONText.integer) ?? .text(text)
        case .boolean: .boolean(text == "true")
        default: .text(text)
        }
    }
}
