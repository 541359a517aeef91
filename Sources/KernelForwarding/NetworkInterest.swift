// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The meaning of a network event for a plane.
package enum NetworkChange: Int, Comparable, Sendable {
    /// Irrelevant: the plane has not read its subject.
    case none
    /// Cached routes may be wrong; interfaces and paths to receivers are unchanged.
    case routes
    /// Interfaces, addresses or the paths to receivers may have changed.
    case network

    package static func < (left: NetworkChange, right: NetworkChange) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// What a plane has read, so that events about other entries cost it nothing: a large link has hundreds of neighbour
/// events a second, some from the plane's own probes.
package struct NetworkInterest: Sendable {
    private var receivers: [IPAddress] = []
    private var hops: Set<LinkLayer.Hop> = []
    /// Whether routes to other hosts are cached as well.
    private let keepsRoutes: Bool
    /// The last reported link-layer addresses; nil: unknown.
    private var known: [LinkLayer.Hop: MACAddress?] = [:]
    private var links: [UInt32: NetworkLink] = [:]
    /// Irrelevant events of the last second. A reading that began before them may have missed their changes.
    private var passedOver: [(event: NetlinkEvent, moment: ContinuousClock.Instant)] = []
    /// When there was last no room for one.
    private var overflow: ContinuousClock.Instant?

    private static let passedOverMax = 256
    private static let lookTime = Duration.seconds(1)
    /// The maximum number of remembered neighbours; beyond it all are forgotten.
    private static let knownMax = 65536

    init(keepsRoutes: Bool) { self.keepsRoutes = keepsRoutes }

    /// Records what was read.
    ///
    /// - Returns: the meaning of recent ignored events for it.
    mutating func follow(_ view: NetworkView) -> NetworkChange {
        receivers = Array(view.paths.keys)
        hops = Set(view.paths.values.compactMap(\.hop))
        let limit = ContinuousClock.now - Self.lookTime
        let recent = passedOver
        passedOver = []
        if let overflow, overflow > limit { return .network }
        return recent.filter { $0.moment > limit }.map { meaning(of: $0.event) }.max() ?? .none
    }

    mutating func effect(of event: NetlinkEvent) -> NetworkChange {
        let effect = meaning(of: event)
        if effect == .none { passOver(event, at: .now) }
        return effect
    }

    /// Removes old events only when there is no room, since each removal moves all the others.
    private mutating func passOver(_ event: NetlinkEvent, at now: ContinuousClock.Instant) {
        if passedOver.count == Self.passedOverMax {
            passedOver.removeFirst(
                passedOver.prefix { $0.moment <= now - Self.lookTime }.count)
        }
        if passedOver.count < Self.passedOverMax {
            passedOver.append((event, now))
        } else {
            overflow = now
        }
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
        // For other neighbours a new address matters, since frames go to the old one. Unresolved ones are not cached.
        guard let before, let old = before, old != mac else { return .none }
        return .routes
    }
}

extension RouteEntry {
    /// Whether the rule matches an address, in any table.
    fileprivate func covers(_ address: IPAddress) -> Bool {
        guard address.family == destination.family else { return false }
        let bits = Int(prefixLength) + (address.family == .v4 ? 96 : 0)
        let high = bits >= 64 ? UInt64.max : ~(UInt64.max >> UInt64(bits))
        let low = bits <= 64 ? 0 : bits >= 128 ? UInt64.max : ~(UInt64.max >> UInt64(bits - 64))
        return (address.high ^ destination.high) & high == 0
            && (address.low ^ destination.low) & low == 0
    }
}
