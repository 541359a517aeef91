// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

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
