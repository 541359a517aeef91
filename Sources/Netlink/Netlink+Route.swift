// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

extension Netlink {
    /// Where the kernel would send a packet.
    ///
    /// Two lookups make the answer. The first is the kernel's decision for this very packet: the
    /// next hop that it would take of several, the source address that it would choose. That one
    /// does not tell whether there were several, so a second asks for the line of the table that
    /// was met (RTM_F_FIB_MATCH).
    ///
    /// - Parameters:
    ///   - destination: for a link-local one the zone counts, an interface's name or index.
    ///   - source: the packet's source address, which policy rules and the choice among several
    ///     next hops may look at; without `arrival` an IPv4 one that this host does not bear has no
    ///     route. nil: the kernel chooses it.
    ///   - arrival: the index of the interface that the packet came in by, to be forwarded; nil for
    ///     one that this host sends. For IPv4 it needs `source`, and that one has to pass the
    ///     interface's `rp_filter`. `forwarding` has to be on there, or the answer is
    ///     `unreachable`.
    /// - Returns: nil when there is no route.
    /// - Throws: `NetlinkError` EINVAL when the kernel takes `source` or `arrival` for impossible,
    ///   ENODEV when an interface does not exist.
    public mutating func route(
        to destination: IPAddress, from source: IPAddress? = nil, arrivingOn arrival: UInt32? = nil
    ) throws(NetlinkError) -> Route? {
        let purpose = Purpose(
            operation: "look up",
            subject: "the route to \(destination)"
                + (source.map { " from \($0)" } ?? "")
                + (arrival.map { " by interface \($0)" } ?? ""))
        if let source, source.family != destination.family {
            throw purpose.error(EINVAL, remedy: "give a source of the destination's family")
        }
        let zone = try zone(of: destination, purpose)
        func request(flags: Int32 = 0) -> NetlinkRequest {
            .route(to: destination, from: source, by: arrival, zone: zone, flags: flags)
        }
        let message: NetlinkMessage?
        do throws(NetlinkError) {
            message = try ask(request(), purpose).first
        } catch {
            return try refused(error, to: destination, isBare: source == nil && arrival == nil)
        }
        return Self.route(to: destination, by: message) {
            // The route may have gone since, or be one that no table holds.
            try? ask(request(flags: RTM_F_FIB_MATCH), purpose).first
        }
    }

    /// How many are asked for at once. Their answers are some 50 KiB in the kernel's count, thrice that where routes
    /// have a hundred next hops: less than the socket's buffer.
    private static let together = 32

    /// Where the kernel would send packets that this host sends, as `route(to:)` says, in half of the system
    /// calls.
    ///
    /// - Returns: in the order of the destinations.
    /// - Throws: as `route(to:)`.
    public mutating func routes(to destinations: [IPAddress]) throws(NetlinkError) -> [Route?] {
        var routes: [Route?] = []
        routes.reserveCapacity(destinations.count)
        for start in stride(from: 0, to: destinations.count, by: Self.together) {
            let some = destinations[start..<min(start + Self.together, destinations.count)]
            let requests = some.flatMap { destination in
                [0, RTM_F_FIB_MATCH].map {
                    NetlinkRequest.route(
                        to: destination, from: nil, by: nil, zone: nil, flags: $0)
                }
            }
            let answers = try askTogether(requests)
            for (place, destination) in some.enumerated() {
                // Anything out of the ordinary is asked for by itself.
                if !destination.isLinkLocal, let answer = answers[2 * place] {
                    routes.append(
                        Self.route(to: destination, by: answer) { answers[2 * place + 1] })
                } else {
                    routes.append(try route(to: destination))
                }
            }
        }
        return routes
    }

    /// - Parameter match: the line of the table that was met.
    private static func route(
        to destination: IPAddress, by message: NetlinkMessage?, match: () -> NetlinkMessage?
    ) -> Route? {
        guard let message, let (header, _) = message.parts(rtmsg.self) else { return nil }
        let kind = RouteKind(header.rtm_type)
        let hops = kind == .unicast ? match()?.parts(rtmsg.self)?.1.hops ?? 0 : 0
        return Route(to: destination, kind: kind, by: message, isMultipath: hops > 1)
    }

    /// Most routes that drop packets answer a lookup with an errno, and EINVAL is that of a
    /// blackhole as well as that of a source address which cannot be.
    private mutating func refused(
        _ error: NetlinkError, to destination: IPAddress, isBare: Bool
    ) throws(NetlinkError) -> Route? {
        if error.errno == ENETUNREACH { return nil }
        if let kind = RouteKind(refusal: error.errno) { return Route(to: destination, kind: kind) }
        guard error.errno == EINVAL else { throw error }
        if isBare { return Route(to: destination, kind: .blackhole) }
        if let bare = try route(to: destination), bare.kind == .blackhole { return bare }
        throw NetlinkError(
            operation: error.operation, subject: error.subject, errno: EINVAL,
            detail: error.detail,
            remedy: "give a source that this host bears, or one that may arrive by the interface")
    }

    /// The interface that the zone of a link-local address names.
    private mutating func zone(
        of address: IPAddress, _ purpose: Purpose
    ) throws(NetlinkError) -> UInt32? {
        guard address.isLinkLocal, let zone = address.zone else { return nil }
        if let index = UInt32(zone) { return index }
        guard let link = try link(named: zone) else { throw purpose.error(ENODEV) }
        return link.index
    }
}

extension NetlinkRequest {
    /// RTM_GETROUTE.
    fileprivate static func route(
        to destination: IPAddress, from source: IPAddress?, by arrival: UInt32?, zone: UInt32?,
        flags: Int32
    ) -> NetlinkRequest {
        let bits: UInt8 = destination.family == .v4 ? 32 : 128
        var header = rtmsg()
        header.rtm_family = destination.familyNumber
        header.rtm_dst_len = bits
        header.rtm_src_len = source == nil ? 0 : bits
        header.rtm_flags = UInt32(flags)
        var request = NetlinkRequest(RTM_GETROUTE, header)
        request.add(RouteAttribute.destination.number, destination.networkBytes)
        if let source { request.add(RouteAttribute.source.number, source.networkBytes) }
        if let arrival { request.add(RouteAttribute.arrival.number, arrival) }
        if let zone { request.add(RouteAttribute.interface.number, zone) }
        return request
    }
}
