// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// What the kernel knows of the network, asked over rtnetlink(7): links, addresses, routes,
/// neighbours.
///
/// It answers for the network namespace of the thread that made it, whichever thread asks. Asking
/// needs no privilege. Every call is a few system calls that do not wait for the network.
public struct Netlink: ~Copyable, Sendable {
    private let socket: NetlinkSocket
    private var sequence: UInt32 = 0

    /// How often a table is read anew when it changes meanwhile.
    private static let attempts = 32

    /// - Throws: `NetlinkError` EMFILE or ENFILE when descriptors run out; EPROTONOSUPPORT or EPERM
    ///   where netlink is not to be had, as in some sandboxes.
    public init() throws(NetlinkError) { try self.init(receiveBufferBytes: 1 << 20) }

    /// - Parameters:
    ///   - receiveBufferBytes: what the kernel keeps of answers that are not read yet.
    ///   - bus: NETLINK_ROUTE or NETLINK_GENERIC.
    init(receiveBufferBytes: Int32, bus: Int32 = NETLINK_ROUTE) throws(NetlinkError) {
        let socket = try NetlinkSocket(bus: bus)
        _ = try socket.setReceiveBuffer(bytes: receiveBufferBytes)
        self.socket = socket
    }

    /// What an errno is about.
    struct Purpose {
        let operation: String
        private let subject: () -> String

        /// - Parameter subject: thousands of questions are asked that do not fail, so it is spelled when
        ///   one does.
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

    /// The answer to a request: one message, or those of a whole table, which is read again if it
    /// changed while it was read.
    ///
    /// - Throws: `NetlinkError` with the kernel's errno and words; EINTR when a table changes all
    ///   the time.
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

    /// The answers to requests for one thing each, which are asked in one system call.
    ///
    /// - Returns: in the order of the requests; nil for one that was refused, and for all when the kernel had no
    ///   memory for that many at once. A single request gives the reason.
    /// - Throws: `NetlinkError` when the kernel does not answer.
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
                // What an abandoned request left behind has another number.
                let place = Int(message.sequence &- first)
                guard place < answers.count else { continue }
                if message.type != NLMSG_ERROR { answers[place] = message }
                left -= 1
            }
        }
        return answers
    }

    /// Reads the answer to the last request to its end; nil when it is not to be relied on.
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

    /// What has arrived; nil when the kernel had no memory for (a part of) the answers, the rest of which is
    /// thrown away.
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
    ///     next hops may look at; without `arrival` an IPv4 one that this host does not have has no
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
            remedy: "give a source that this host has, or one that may arrive by the interface")
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
