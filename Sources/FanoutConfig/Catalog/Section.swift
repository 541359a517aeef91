// SPDX-License-Identifier: Apache-2.0

/// The model of a section.
protocol SectionModel: Sendable {
    /// The defaults. The value of a required key is meaningless.
    init()

    /// The keys of the section: one line each in `ConfigKeys.swift`.
    static var section: Section<Self> { get }
}

/// A section of the file: a mapping with a fixed set of keys. The table drives decoding, defaults, hints for unknown
/// keys, the effective configuration, the schema and the reference.
struct Section<Model: SectionModel>: Sendable {
    /// The part without the model, for documentation and hints.
    let outline: ConfigSection
    let keys: [Key<Model>]

    /// - Parameter paths: the paths of the section, with `[]` for list items; the usual path first.
    init(_ name: String, at paths: String..., @KeyBuilder<Model> keys: () -> [Key<Model>]) {
        self.keys = keys()
        outline = ConfigSection(name: name, paths: paths, keys: self.keys.map(\.key))
    }

    func key(_ path: PartialKeyPath<Model>) -> ConfigKey { outline.keys[index(of: path)] }

    func index(of path: PartialKeyPath<Model>) -> Int {
        guard let index = keys.firstIndex(where: { $0.path == path }) else {
            preconditionFailure("\(outline.name) has no key for \(path)")
        }
        return index
    }

    /// Decodes a mapping over the values of `model`. Reports each key that is unknown, repeated or missing, and
    /// each invalid value.
    ///
    /// - Returns: the place of each value; nil if `field` is not a mapping.
    func decode(_ field: Field, into model: inout Model) -> Origins? {
        guard let fields = outline.fields(of: field) else { return nil }
        var origins = Origins(section: field.key, count: keys.count)
        // Lists last: the defaults of their items depend on other keys.
        for decodesLists in [false, true] {
            for (index, key) in keys.enumerated() where key.isList == decodesLists {
                guard let field = fields[index] else { continue }
                origins.places[index] = Origins.Place(
                    key: field.key, value: field.origin, nested: key.decode(field, &model))
            }
        }
        return origins
    }

    func write(_ model: Model, to writer: inout YAMLWriter) {
        for key in keys { key.write(model, &writer) }
    }

    /// Whether every required key is valid.
    fileprivate func isComplete(_ origins: Origins) -> Bool {
        zip(outline.keys, origins.places).allSatisfy { key, place in
            key.defaultValue != .required || place?.nested != nil
        }
    }
}

@resultBuilder
enum KeyBuilder<Model: SectionModel> {
    static func buildExpression(_ key: Key<Model>) -> Key<Model> { key }
    static func buildBlock(_ keys: Key<Model>...) -> [Key<Model>] { keys }
}

typealias Property<Model, Value> = any WritableKeyPath<Model, Value> & Sendable

/// A key of a section, bound to the property of its value.
struct Key<Model: SectionModel>: Sendable {
    let key: ConfigKey
    let path: any PartialKeyPath<Model> & Sendable
    let isList: Bool
    /// Returns the places within the value, none for a plain value; nil if it is invalid.
    let decode: @Sendable (Field, inout Model) -> [Origins]?
    let write: @Sendable (Model, inout YAMLWriter) -> Void
}

extension Key {
    /// A plain value.
    ///
    /// - Parameters:
    ///   - unset: the description of the default; nil: the value in `Model()`.
    ///   - isShown: whether the effective configuration contains the key.
    init<Value>(
        _ name: String, _ path: Property<Model, Value>, _ type: ValueType<Value>,
        unset: KeyDefault? = nil, if isShown: @escaping @Sendable (Model) -> Bool = { _ in true },
        _ meaning: String
    ) {
        let unset = unset ?? .value(yaml: type.yaml(Model()[keyPath: path]) ?? "")
        self.init(
            key: ConfigKey(name: name, rule: type.rule, defaultValue: unset, meaning: meaning),
            path: path, isList: false
        ) { field, model in
            guard let value = type.read(field, model[keyPath: path]) else { return nil }
            model[keyPath: path] = value
            return []
        } write: { model, writer in
            guard isShown(model), let yaml = type.yaml(model[keyPath: path]) else { return }
            writer.line("\(name): \(yaml)")
        }
    }

    /// An optional plain value.
    init<Value>(
        _ name: String, _ path: Property<Model, Value?>,
        _ type: ValueType<Value>, unset: KeyDefault, _ meaning: String
    ) {
        let type = ValueType<Value?>(rule: type.rule) {
            type.read($0, $1 ?? nil)
        } yaml: {
            $0.flatMap(type.yaml)
        }
        self.init(name, path, type, unset: unset, meaning)
    }

    /// A section.
    init<Sub: SectionModel>(
        _ name: String, section path: Property<Model, Sub>, _ meaning: String
    ) {
        self.init(
            key: ConfigKey(
                name: name, rule: .section(Sub.section.outline),
                defaultValue: .absent("the default of each key"), meaning: meaning),
            path: path, isList: false
        ) { field, model in
            Sub.section.decode(field, into: &model[keyPath: path]).map { [$0] }
        } write: { model, writer in
            writer.section(name) { Sub.section.write(model[keyPath: path], to: &$0) }
        }
    }

    /// An optional section; nil while a required key of it is invalid.
    init<Sub: SectionModel>(
        _ name: String, section path: Property<Model, Sub?>,
        unset: KeyDefault, _ meaning: String
    ) {
        self.init(
            key: ConfigKey(
                name: name, rule: .section(Sub.section.outline), defaultValue: unset,
                meaning: meaning),
            path: path, isList: false
        ) { field, model in
            var value = Sub()
            guard let origins = Sub.section.decode(field, into: &value) else { return nil }
            if Sub.section.isComplete(origins) { model[keyPath: path] = value }
            return [origins]
        } write: { model, writer in
            guard let value = model[keyPath: path] else { return }
            writer.section(name) { Sub.section.write(value, to: &$0) }
        }
    }

    /// A list of sections.
    ///
    /// - Parameter new: the defaults of an item; also used for an item that is not a mapping, which is reported.
    init<Item: SectionModel>(
        _ name: String, items path: Property<Model, [Item]>, unset: KeyDefault,
        if isShown: @escaping @Sendable (Model) -> Bool = { _ in true }, _ meaning: String,
        new: @escaping @Sendable (Model) -> Item
    ) {
        self.init(
            key: ConfigKey(
                name: name, rule: .list(of: Item.section.outline), defaultValue: unset,
                meaning: meaning),
            path: path, isList: true
        ) { field, model in
            guard let items = field.items else { return nil }
            let first = new(model)
            return items.map { item in
                var value = first
                let origins = Item.section.decode(item, into: &value)
                model[keyPath: path].append(value)
                return origins ?? Origins(section: item.key, count: 0)
            }
        } write: { model, writer in
            guard isShown(model) else { return }
            writer.section(name) {
                for value in model[keyPath: path] {
                    $0.item { Item.section.write(value, to: &$0) }
                }
            }
        }
    }
}
