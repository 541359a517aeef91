// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// Reads the kernel's network tables over rtnetlink(7): links, addresses, routes, neighbours.
///
/// It reads the network namespace of the thread that made it, from any thread. Reading needs no privilege. Every call
/// is a few system calls that do not wait for the network.
public struct Netlink: ~Copyable, Sendable {
    private let socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// How often a table is read again when it changes meanwhile.
    private static let attempts = 32

    /// - Throws: `NetlinkError` EMFILE or ENFILE when descriptors run out; EPROTONOSUPPORT or EPERM
    ///   where netlink is not available, as in some sandboxes.
    public init() throws(NetlinkError) { try self.init(receiveBufferBytes: 1 << 20) }

    /// - Parameters:
    ///   - receiveBufferBytes: the kernel's buffer for unread replies.
    ///   - bus: NETLINK_ROUTE or NETLINK_GENERIC.
    init(receiveBufferBytes: Int32, bus: Int32 = NETLINK_ROUTE) throws(NetlinkError) {
        let socket = try NetlinkSocket(bus: bus)
        _ = try socket.setReceiveBuffer(bytes: receiveBufferBytes)
        self.socket = socket
    }

    /// The operation and subject of an error.
    struct Purpose {
        let operation: String
        private let subject: () -> String

        /// - Parameter subject: evaluated only on an error, since most of thousands of requests succeed.
        init(operation: String, subject: @autoclosure @escaping () -> String) {
            self.operation = operation
            self.subject = subject
        }

        func error(_ errno: Int32, _ detail: String? = nil, remedy: String? = nil) -> NetlinkError {
            NetlinkError(
                operation: operation, subject: subject(), errno: errno, detail: detail,
                remedy: remedy)
        }
    }

    /// The reply to a request: one message, or those of a whole table, which is read again if it changed meanwhile.
    ///
    /// - Throws: `NetlinkError` with the kernel's errno and message; EINTR when a table changes all the time.
    mutating func ask(
        _ request: NetlinkRequest, _ purpose: Purpose
    ) throws(NetlinkError) -> [NetlinkMessage] {
        for _ in 0..<Self.attempts {
            sequence &+= 1
            try socket.send(request.numbered(sequence))
            if let messages = try answer(to: request, purpose) { return messages }
        }
        throw purpose.error(EINTR)
    }

    /// The replies to requests for one object each, sent in one system call.
    ///
    /// - Returns: in the order of the requests; nil for a refused one, and for all when the kernel had no memory for
    ///   that many at once. A single request gives the reason.
    /// - Throws: `NetlinkError` when the kernel does not reply.
    mutating func askTogether(
        _ requests: [NetlinkRequest]
    ) throws(NetlinkError) -> [NetlinkMessage?] {
        let first = sequence &+ 1
        var bytes: [UInt8] = []
        for request in requests {
            sequence &+= 1
            bytes += request.numbered(sequence)
        }
        try socket.send(bytes[...])
        var answers = [NetlinkMessage?](repeating: nil, count: requests.count)
        var left = requests.count
        while left > 0 {
            guard let received = try receive() else { return answers.map { _ in nil } }
            for message in received where message.port == socket.port {
                // Replies to an abandoned request have another number.
                let place = Int(message.sequence &- first)
                guard place < answers.count else { continue }
                if message.type != NLMSG_ERROR { answers[place] = message }
                left -= 1
            }
        }
        return answers
    }

    /// Reads the reply to the last request to its end; nil when it is inconsistent.
    private func answer(
        to request: NetlinkRequest, _ purpose: Purpose
    ) throws(NetlinkError) -> [NetlinkMessage]? {
        var answer = Answer(sequence: sequence, port: socket.port, isDump: request.isDump)
        while true {
            guard let received = try receive() else { return nil }
            for message in received {
                switch answer.take(message) {
                case .more: continue
                case .whole: return answer.messages
                case .inconsistent: return nil
                case .refused(let errno, let detail): throw purpose.error(errno, detail)
                }
            }
        }
    }

    /// The received messages; nil when the kernel had no memory for (a part of) the replies, whose rest is discarded.
    private func receive() throws(NetlinkError) -> [NetlinkMessage]? {
        do throws(NetlinkError) {
            return try socket.receive()
        } catch {
            guard error.errno == ENOBUFS else { throw error }
            socket.drain()
            return nil
        }
    }
}

extension Netlink {
    /// Looks up the route of a packet.
    ///
    /// This needs two lookups. The first is the kernel's decision for this very packet: its next hop among several, and
    /// the source address that the kernel would choose. It does not show whether there are several next hops, so the
    /// second asks for the matching entry of the table (RTM_F_FIB_MATCH).
    ///
    /// - Parameters:
    ///   - destination: for a link-local one the zone counts, an interface's name or index.
    ///   - source: the packet's source address, which policy rules and the choice among several next hops may use;
    ///     without `arrival` an IPv4 address that this host does not have has no route. nil: the kernel chooses it.
    ///   - arrival: the index of the input interface of a packet to forward; nil for a packet of this host. For IPv4 it
    ///     needs `source`, which must pass the interface's `rp_filter`. `forwarding` must be on there, otherwise the
    ///     result is `unreachable`.
    /// - Returns: nil when there is no route.
    /// - Throws: `NetlinkError` EINVAL when the kernel considers `source` or `arrival` impossible, ENODEV when an
    ///   interface does not exist.
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
            // The route may have been removed since, or be in no table.
            try? ask(request(flags: RTM_F_FIB_MATCH), purpose).first
        }
    }

    /// The number of lookups at once. Their replies take some 50 KiB of the socket's buffer, three times that where
    /// routes have a hundred next hops: less than its size.
    private static let together = 32

    /// Looks up the routes of packets of this host, as `route(to:)` does, with half of the system calls.
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
                // Unusual results are looked up again one by one.
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

    /// - Parameter match: the matching entry of the table.
    private static func route(
        to destination: IPAddress, by message: NetlinkMessage?, match: () -> NetlinkMessage?
    ) -> Route? {
        guard let message, let (header, _) = message.parts(rtmsg.self) else { return nil }
        let kind = RouteKind(header.rtm_type)
        let hops = kind == .unicast ? match()?.parts(rtmsg.self)?.1.hops ?? 0 : 0
        return Route(to: destination, kind: kind, by: message, isMultipath: hops > 1)
    }

    /// Most routes that drop packets make a lookup fail with an errno. EINVAL can mean a blackhole or an impossible
    /// source address.
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
            remedy: "give a source that this host has, or one that may arrive by the interface")
    }

    /// The interface of a link-local address's zone.
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
    /// A request of RTM_GETROUTE.
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
