// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What an event of the network means for a plane.
package enum NetworkChange: Int, Comparable, Sendable {
    /// Nothing that the plane has looked at.
    case none
    /// Answers about routes that were kept may be wrong; interfaces and ways to receivers are as they were.
    case routes
    /// Interfaces, addresses or the ways to receivers may have changed.
    case network

    package static func < (left: NetworkChange, right: NetworkChange) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// What a plane has looked at, so that events of other things cost it nothing: on a large link there are hundreds of
/// neighbour events a second, and the plane's own probes make some.
package struct NetworkInterest: Sendable {
    private var receivers: [IPAddress] = []
    private var hops: Set<LinkLayer.Hop> = []
    /// Whether answers about routes to others are kept as well.
    private let keepsRoutes: Bool
    /// The link-layer addresses last told of; nil: not known.
    private var known: [LinkLayer.Hop: MACAddress?] = [:]
    private var links: [UInt32: NetworkLink] = [:]
    /// Events of the last second that meant nothing. A look that began before them may have missed what they tell.
    private var passedOver: [(event: NetlinkEvent, moment: ContinuousClock.Instant)] = []

    private static let passedOverMax = 256
    private static let lookTime = Duration.seconds(1)
    /// Neighbours that are remembered; then all are forgotten.
    private static let knownMax = 65536

    init(keepsRoutes: Bool) { self.keepsRoutes = keepsRoutes }

    /// Takes note of what was looked at.
    ///
    /// - Returns: what events that were passed over a moment ago mean for it.
    mutating func follow(_ view: NetworkView) -> NetworkChange {
        receivers = Array(view.paths.keys)
        hops = Set(view.paths.values.compactMap(\.hop))
        let recent = passedOver
        passedOver = []
        guard recent.count < Self.passedOverMax else { return .network }
        let now = ContinuousClock.now
        return recent.filter { $0.moment > now - Self.lookTime }.map { meaning(of: $0.event) }.max()
            ?? .none
    }

    mutating func effect(of event: NetlinkEvent) -> NetworkChange {
        let effect = meaning(of: event)
        if effect == .none {
            let now = ContinuousClock.now
            passedOver.removeAll { $0.moment <= now - Self.lookTime }
            if passedOver.count < Self.passedOverMax { passedOver.append((event, now)) }
        }
        return effect
    }

    private mutating func meaning(of event: NetlinkEvent) -> NetworkChange {
        switch event {
        case .neighbour(let neighbour, let presence):
            return meaning(of: neighbour, isGone: presence == .gone)
        case .route(let route, _):
            if receivers.contains(where: { route.covers($0) }) { return .network }
            return keepsRoutes ? .routes : .none
        case .link(let link, .present):
            // Statistics and features of wireless links have events, too.
            return links.updateValue(link, forKey: link.index) == link ? .none : .network
        case .link(let link, .gone):
            links[link.index] = nil
            return .network
        case .resynchronise:
            (known, links) = ([:], [:])
            return .network
        case .address, .rule, .setting, .features, .failed: return .network
        }
    }

    private mutating func meaning(of neighbour: Neighbour, isGone: Bool) -> NetworkChange {
        let hop = LinkLayer.Hop(interface: neighbour.interface, address: neighbour.address)
        let isUsed = hops.contains(hop)
        guard isUsed || keepsRoutes else { return .none }
        let mac = !isGone && neighbour.isResolved ? neighbour.mac : nil
        if known.count >= Self.knownMax { known = [:] }
        let before = known.updateValue(mac, forKey: hop)
        if isUsed { return before == .some(mac) ? .none : .network }
        // Of others a new address matters, since frames go to the old one. No answer was kept of those without one.
        guard let before, let old = before, old != mac else { return .none }
        return .routes
    }
}

extension RouteEntry {
    /// Whether it is about an address, whatever table it is in.
    fileprivate func covers(_ address: IPAddress) -> Bool {
        guard address.family == destination.family else { return false }
        let bits = Int(prefixLength) + (address.family == .v4 ? 96 : 0)
        let high = bits >= 64 ? UInt64.max : ~(UInt64.max >> UInt64(bits))
        let low = bits <= 64 ? 0 : bits >= 128 ? UInt64.max : ~(UInt64.max >> UInt64(bits - 64))
        return (address.high ^ destination.high) & high == 0
            && (address.low ^ destination.low) & low == 0
    }
}
