// SPDX-License-Identifier: Apache-2.0

/// Holds a value against a schema and gathers what is wrong, each with its place.
struct Judge {
    let schema: Schema
    var problems: [String] = []

    init(schema: Schema) { self.schema = schema }

    private func accepts(_ value: Value, by rule: Value, at place: String) -> Bool {
        var other = Judge(schema: schema)
        other.judge(value, by: rule, at: place)
        return other.problems.isEmpty
    }

    private mutating func refuse(_ place: String, _ what: String) {
        problems.append("\(place.isEmpty ? "/" : place): \(what)")
    }

    mutating func judge(_ value: Value, by rule: Value, at place: String) {
        guard case .object(let words) = rule else {
            if rule == .boolean(false) { refuse(place, "may not stand here") }
            return
        }
        for (word, argument) in words.sorted(by: { $0.key < $1.key }) {
            switch word {
            case "$ref":
                if let target = try? schema.target(of: argument) {
                    judge(value, by: target, at: place)
                }
            case "type": judgeType(value, argument, place)
            case "enum":
                if argument.list?.contains(value) != true {
                    refuse(place, "is none of \(argument.json)")
                }
            case "const": if value != argument { refuse(place, "is not \(argument.json)") }
            case "minimum", "maximum": judgeSize(value, word, argument, place)
            case "minLength", "maxLength", "pattern": judgeText(value, word, argument, place)
            case "items", "minItems": judgeList(value, word, argument, place)
            case "properties", "required", "additionalProperties":
                judgeObject(value, word, words, place)
            default: judgeParts(value, word, words, place)
            }
        }
    }

    private mutating func judgeType(_ value: Value, _ wanted: Value, _ place: String) {
        let names = wanted.list?.compactMap(\.text) ?? [wanted.text ?? ""]
        let isThere =
            names.contains(value.type) || (names.contains("number") && value.type == "integer")
        if !isThere {
            refuse(place, "is of type \(value.type), not \(names.joined(separator: " or "))")
        }
    }

    private mutating func judgeSize(_ value: Value, _ word: String, _ limit: Value, _ place: String)
    {
        let number: Double
        switch value {
        case .integer(let whole):
            guard let limit = limit.integer else { return refuse(place, "no limit for \(word)") }
            if word == "minimum" ? whole < limit : whole > limit {
                refuse(place, "\(word) is \(limit)")
            }
            return
        case .number(let other): number = other
        default: return
        }
        let bound = Double(limit.integer ?? 0)
        if word == "minimum" ? number < bound : number > bound {
            refuse(place, "\(word) is \(bound)")
        }
    }

    private mutating func judgeText(_ value: Value, _ word: String, _ limit: Value, _ place: String)
    {
        guard let text = value.text else { return }
        let length = text.unicodeScalars.count
        switch word {
        case "minLength": if length < limit.integer ?? 0 { refuse(place, "is too short") }
        case "maxLength": if length > limit.integer ?? 0 { refuse(place, "is too long") }
        default:
            guard let pattern = limit.text, let regex = try? Regex(pattern),
                text.firstMatch(of: regex.matchingSemantics(.unicodeScalar)) != nil
            else { return refuse(place, "\(text) does not match \(limit.json)") }
        }
    }

    private mutating func judgeList(_ value: Value, _ word: String, _ rule: Value, _ place: String)
    {
        guard let list = value.list else { return }
        if word == "minItems" {
            if list.count < rule.integer ?? 0 { refuse(place, "holds too few") }
            return
        }
        for (index, item) in list.enumerated() { judge(item, by: rule, at: "\(place)/\(index)") }
    }

    private mutating func judgeObject(
        _ value: Value, _ word: String, _ words: [String: Value], _ place: String
    ) {
        guard let members = value.object, let rule = words[word] else { return }
        let known = words["properties"]?.object ?? [:]
        switch word {
        case "required":
            for name in rule.list?.compactMap(\.text) ?? [] where members[name] == nil {
                refuse(place, "lacks \(name)")
            }
        case "properties":
            for (name, part) in known {
                if let member = members[name] { judge(member, by: part, at: "\(place)/\(name)") }
            }
        default:
            for (name, member) in members where known[name] == nil {
                if rule == .boolean(false) {
                    refuse(place, "has the unknown member \(name)")
                } else {
                    judge(member, by: rule, at: "\(place)/\(name)")
                }
            }
        }
    }

    private mutating func judgeParts(
        _ value: Value, _ word: String, _ words: [String: Value], _ place: String
    ) {
        guard let rule = words[word] else { return }
        switch word {
        case "allOf": for part in rule.list ?? [] { judge(value, by: part, at: place) }
        case "anyOf", "oneOf":
            let count = (rule.list ?? []).count { accepts(value, by: $0, at: place) }
            if word == "anyOf" ? count == 0 : count != 1 {
                refuse(place, "fits \(count) of the choices of \(word)")
            }
        case "not":
            if accepts(value, by: rule, at: place) { refuse(place, "is what it may not be") }
        case "if":
            let branch = words[accepts(value, by: rule, at: place) ? "then" : "else"]
            if let branch { judge(value, by: branch, at: place) }
        default: break
        }
    }
}
