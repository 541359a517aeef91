// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The places of a section and its values.
struct Origins {
    struct Place {
        let key: Origin
        let value: Origin
        /// The sections within the value; nil if it is invalid.
        let nested: [Origins]?
    }

    let section: Origin
    /// By the index of the key; nil for an absent key. Empty if the section is not a mapping.
    var places: [Place?]

    init(section: Origin, count: Int) {
        self.section = section
        places = Array(repeating: nil, count: count)
    }

    var isMapping: Bool { !places.isEmpty }
}

/// A section as far as it is valid. An invalid value has its default and has been reported; the others are still
/// checked, so that one mistake does not hide another.
struct Decoded<Model: SectionModel> {
    var value: Model
    let origins: Origins

    private func place(_ path: PartialKeyPath<Model>) -> Origins.Place? {
        origins.isMapping ? origins.places[Model.section.index(of: path)] : nil
    }

    /// A value that is present and valid.
    subscript<Value>(_ path: KeyPath<Model, Value>) -> Located<Value>? {
        origin(path).map { Located(value: value[keyPath: path], origin: $0) }
    }

    subscript<Value>(_ path: KeyPath<Model, Value?>) -> Located<Value>? {
        guard let origin = origin(path), let value = value[keyPath: path] else { return nil }
        return Located(value: value, origin: origin)
    }

    /// The place of a valid value.
    func origin(_ path: PartialKeyPath<Model>) -> Origin? {
        place(path).flatMap { $0.nested == nil ? nil : $0.value }
    }

    /// The place of a key, whether or not its value is valid.
    func keyOrigin(_ path: PartialKeyPath<Model>) -> Origin? { place(path)?.key }

    /// Whether a value is present but invalid. It has been reported, and a check of its default would mislead.
    func isUnreadable(_ path: PartialKeyPath<Model>) -> Bool {
        place(path).map { $0.nested == nil } ?? false
    }

    /// The place for an absent key.
    func missing(_ path: PartialKeyPath<Model>) -> Origin {
        origins.section.appending(Model.section.key(path).name)
    }

    func section<Sub: SectionModel>(_ path: KeyPath<Model, Sub>) -> Decoded<Sub>? {
        place(path)?.nested?.first.map { Decoded<Sub>(value: value[keyPath: path], origins: $0) }
    }

    /// An optional section; `Sub()` while a required key of it is invalid.
    func section<Sub: SectionModel>(_ path: KeyPath<Model, Sub?>) -> Decoded<Sub>? {
        place(path)?.nested?.first.map {
            Decoded<Sub>(value: value[keyPath: path] ?? Sub(), origins: $0)
        }
    }

    /// The items of a list, including those that are not mappings; nil if the list is invalid.
    func items<Item: SectionModel>(_ path: KeyPath<Model, [Item]>) -> [Decoded<Item>]? {
        place(path)?.nested.map { nested in
            zip(value[keyPath: path], nested).map { Decoded<Item>(value: $0, origins: $1) }
        }
    }
}

typealias DecodedListener = Decoded<ListenerConfiguration>
typealias DecodedReceiver = Decoded<DownstreamConfiguration>

// Accessors for checks of a listener, as far as it is valid.
extension DecodedListener {
    /// The name of the listener in problems of others.
    var title: String { "listener " + (self[\.name]?.value.quoted ?? origins.section.key) }

    /// `bind`, or `vip` with `ports`.
    var bind: Located<Endpoint>? {
        let place =
            keyOrigin(\.singleBind) == nil
            ? origin(\.ports).flatMap { _ in origin(\.vip) } : origin(\.singleBind)
        return place.map { Located(value: value.bind, origin: $0) }
    }

    /// The mode, possibly the default; nil if it is invalid.
    var mode: ForwardingMode? { isUnreadable(\.mode) ? nil : value.mode }

    var preservesSource: Bool {
        self[\.preserveSource]?.value ?? value.mode.preservesSourceByDefault
    }

    /// Ports besides the first; may be empty.
    var ports: [UInt16] { self[\.ports]?.value ?? [] }

    var receivers: [DecodedReceiver] { items(\.downstreams) ?? [] }

    var receiverAddresses: [Located<Endpoint>] { receivers.compactMap { $0[\.address] } }

    /// The places of the keys for discovery.
    var lookupOrigins: [Origin] {
        ListenerConfiguration.lookups.compactMap { keyOrigin($0) }
    }
}
