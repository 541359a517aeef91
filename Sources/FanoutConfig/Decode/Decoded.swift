// SPDX-License-Identifier: Apache-2.0

/// Where a section of the file and its values are.
struct Origins {
    struct Place {
        let key: Origin
        let value: Origin
        /// The sections within the value; nil when it could not be read.
        let nested: [Origins]?
    }

    let section: Origin
    /// By the index of the key; nil for a key that is not written. Empty when the section is not a mapping.
    var places: [Place?]

    init(section: Origin, count: Int) {
        self.section = section
        places = Array(repeating: nil, count: count)
    }

    var isMapping: Bool { !places.isEmpty }
}

/// A section as far as it could be read: a value that could not has its default and has been reported, and the others
/// are still checked, so that one mistake does not hide another.
struct Decoded<Model: SectionModel> {
    var value: Model
    let origins: Origins

    private func place(_ path: PartialKeyPath<Model>) -> Origins.Place? {
        origins.isMapping ? origins.places[Model.section.index(of: path)] : nil
    }

    /// A value that is written and could be read.
    subscript<Value>(_ path: KeyPath<Model, Value>) -> Located<Value>? {
        origin(path).map { Located(value: value[keyPath: path], origin: $0) }
    }

    subscript<Value>(_ path: KeyPath<Model, Value?>) -> Located<Value>? {
        guard let origin = origin(path), let value = value[keyPath: path] else { return nil }
        return Located(value: value, origin: origin)
    }

    /// Where a value is that could be read.
    func origin(_ path: PartialKeyPath<Model>) -> Origin? {
        place(path).flatMap { $0.nested == nil ? nil : $0.value }
    }

    /// Where a key is, whether or not its value could be read.
    func keyOrigin(_ path: PartialKeyPath<Model>) -> Origin? { place(path)?.key }

    /// Whether a value is written and could not be read. It has been reported, and a check of its default would
    /// mislead.
    func isUnreadable(_ path: PartialKeyPath<Model>) -> Bool {
        place(path).map { $0.nested == nil } ?? false
    }

    /// The place for a key that is not written.
    func missing(_ path: PartialKeyPath<Model>) -> Origin {
        origins.section.appending(Model.section.key(path).name)
    }

    func section<Sub: SectionModel>(_ path: KeyPath<Model, Sub>) -> Decoded<Sub>? {
        place(path)?.nested?.first.map { Decoded<Sub>(value: value[keyPath: path], origins: $0) }
    }

    /// A section that may be absent; `Sub()` while a required key of it could not be read.
    func section<Sub: SectionModel>(_ path: KeyPath<Model, Sub?>) -> Decoded<Sub>? {
        place(path)?.nested?.first.map {
            Decoded<Sub>(value: value[keyPath: path] ?? Sub(), origins: $0)
        }
    }

    /// The items of a list, also those that are not mappings; nil when the list could not be read.
    func items<Item: SectionModel>(_ path: KeyPath<Model, [Item]>) -> [Decoded<Item>]? {
        place(path)?.nested.map { nested in
            zip(value[keyPath: path], nested).map { Decoded<Item>(value: $0, origins: $1) }
        }
    }
}
