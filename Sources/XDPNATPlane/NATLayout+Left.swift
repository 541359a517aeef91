// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

// Servers that have left are known by their endpoints for a while yet.

extension NATLayout {
    /// What packets are looked up by while some are still on their way by `former`, and no answer of those who
    /// leave is to be lost.
    ///
    /// - Parameter isNew: whether no packet is on its way by `former` in the program whose endpoints these are.
    func endpoints(beside former: NATLayout, isNew: Bool) -> [EndpointEntry] {
        var stays = [Bool](repeating: false, count: Int(LB_SERVERS_MAX))
        for server in roll.servers.values { stays[Int(server.number)] = true }
        let fronts = Set(fronts.values.map(\.number))
        let others = former.endpoints.compactMap { entry -> EndpointEntry? in
            if isNew, entry.role == LB_NAT_SERVICE { return nil }
            guard entry.role == LB_NAT_SERVER, !stays[Int(entry.number)],
                fronts.contains(entry.front)
            else { return entry }
            var late = entry
            late.role = LB_NAT_LEFT
            return late
        }
        return endpoints + others + former.lateEndpoints
    }

    /// Notes who had left before `former` came, and who has left since.
    ///
    /// - Parameter time: for how long they may still answer.
    mutating func rememberLeft(from former: NATLayout, for time: Duration) {
        let now = ContinuousClock.now
        let transports = Dictionary(
            fronts.values.map { ($0.number, Set($0.services.keys.map(\.transport))) },
            uniquingKeysWith: { $0.union($1) })
        let formerFronts = Dictionary(former.fronts.values.map { ($0.number, $0) }) { $1 }
        left = former.left.kept(at: now, fronts: Set(transports.keys))
        left.add(
            roll.departed(from: former.roll).compactMap { seat, server in
                guard transports[seat.front] != nil else { return nil }
                let interface = formerFronts[seat.front]?.servers[seat.server]?.interface
                return .init(seat: seat, server: server, interface: interface, end: now + time)
            })
        lateEndpoints = left.entries.flatMap { entry in
            transports[entry.seat.front, default: []].map {
                EndpointEntry(left: entry.seat.server, $0, entry.server, entry.seat.front)
            }
        }
    }
}
