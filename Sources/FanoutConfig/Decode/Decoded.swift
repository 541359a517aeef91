// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

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

typealias DecodedListener = Decoded<ListenerConfiguration>
typealias DecodedReceiver = Decoded<DownstreamConfiguration>

// What checks ask about a listener as far as it could be read.
extension DecodedListener {
    /// How problems of other listeners call this one.
    var title: String { "listener " + (self[\.name]?.value.quoted ?? origins.section.key) }

    /// `bind`, or what `vip` and `ports` say.
    var bind: Located<Endpoint>? {
        let place =
            keyOrigin(\.singleBind) == nil
            ? origin(\.ports).flatMap { _ in origin(\.vip) } : origin(\.singleBind)
        return place.map { Located(value: value.bind, origin: $0) }
    }

    /// The mode, also by default; nil when it could not be read.
    var mode: ForwardingMode? { isUnreadable(\.mode) ? nil : value.mode }

    var preservesSource: Bool {
        self[\.preserveSource]?.value ?? value.mode.preservesSourceByDefault
    }

    /// Further ports than one, or none.
    var ports: [UInt16] { self[\.ports]?.value ?? [] }

    var receivers: [DecodedReceiver] { items(\.downstreams) ?? [] }

    var receiverAddresses: [Located<Endpoint>] { receivers.compactMap { $0[\.address] } }

    /// Where the keys that look receivers up are.
    var lookupOrigins: [Origin] {
        ListenerConfiguration.lookups.compactMap { keyOrigin($0) }
    }
}
