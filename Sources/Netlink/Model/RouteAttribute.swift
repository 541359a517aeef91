// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import FanoutCore

/// The attributes of RTM_NEWROUTE.
enum RouteAttribute {
    case destination, source, arrival, interface, gateway, via, priority, preferredSource, metrics
    case multipath, table

    var number: Int {
        let type =
            switch self {
            case .destination: RTA_DST
            case .source: RTA_SRC
            case .arrival: RTA_IIF
            case .interface: RTA_OIF
            case .gateway: RTA_GATEWAY
            case .via: RTA_VIA
            case .priority: RTA_PRIORITY
            case .preferredSource: RTA_PREFSRC
            case .metrics: RTA_METRICS
            case .multipath: RTA_MULTIPATH
            case .table: RTA_TABLE
            }
        return Int(type.rawValue)
    }
}

extension Attributes {
    func uint32(_ type: RouteAttribute) -> UInt32? { uint32(type.number) }
    func address(_ type: RouteAttribute) -> IPAddress? { address(type.number) }
    func nested(_ type: RouteAttribute) -> Attributes? { nested(type.number) }

    /// Of the destination's family, or of the other one behind its number (`rtvia`).
    var gateway: IPAddress? {
        address(.gateway)
            ?? self[RouteAttribute.via.number].flatMap { IPAddress(network: $0.dropFirst(2)) }
    }

    /// How many next hops RTA_MULTIPATH lists; each is a `rtnexthop` with its length in front.
    var hops: Int {
        guard let list = self[RouteAttribute.multipath.number] else { return 0 }
        var place = 0
        var count = 0
        while let hop = list.read(rtnexthop.self, at: place),
            Int(hop.rtnh_len) >= MemoryLayout<rtnexthop>.size
        {
            count += 1
            place += (Int(hop.rtnh_len) + 3) & ~3
        }
        return count
    }
}
