// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import KernelForwarding

extension WantedHook {
    /// The hooks of all existing interfaces of listeners and, where packets are routed, of their servers, by index. A
    /// listener's own setting has precedence over that of an interface of servers.
    ///
    /// - Parameter left: the interfaces that may still get late replies.
    static func all(
        of listeners: [Listener], on network: NetworkView, left: Set<UInt32> = []
    ) -> [WantedHook] {
        var wanted: [UInt32: XDPAttach] = [:]
        func want(_ index: UInt32, _ attach: XDPAttach) {
            let known = wanted[index] ?? .auto
            wanted[index] = known == .auto ? attach : known
        }
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface) else { continue }
            want(interface.index, listener.settings.xdpMode)
        }
        for listener in listeners where !listener.nat.isOneArm {
            for address in listener.downstreams.map(\.endpoint.address) {
                guard let index = network.paths[address]?.interface else { continue }
                want(index, listener.settings.xdpMode)
            }
        }
        for index in left { want(index, .auto) }
        return network.interfaces.compactMap { interface in
            wanted[interface.index].map { attach in
                // Frames that a veth's driver sends are lost unless its peer has XDP or GRO.
                let isVeth = attach == .auto && interface.kind == "veth"
                return WantedHook(interface, isVeth ? [.skb, .native] : attach.modes)
            }
        }
    }
}

/// The interfaces of the program, with their own link-layer addresses, in the layout of lb/nat.h.
struct HookTable: Equatable, Sendable {
    private let macs: [UInt32: [UInt8]]
    let places: [lb_nat_hook]

    /// - Throws: `BPFError` when more interfaces than probes need one place.
    init(_ interfaces: [HostInterface]) throws(BPFError) {
        var places = [lb_nat_hook](repeating: lb_nat_hook(), count: Int(LB_NAT_HOOKS))
        macs = Dictionary(interfaces.map { ($0.index, $0.mac ?? []) }) { first, _ in first }
        for (index, mac) in macs.sorted(by: { $0.key < $1.key }) {
            let near = (0..<Int(LB_NAT_PROBES)).map { (Int(index) + $0) % places.count }
            guard let place = near.first(where: { places[$0].ifindex == 0 }) else {
                throw BPFError(
                    operation: "lay out", subject: "interface \(index)", errno: E2BIG,
                    remedy: "the numbers of several interfaces differ by multiples of "
                        + "\(LB_NAT_HOOKS); recreate one of the interfaces")
            }
            places[place].ifindex = index
            // Without an address packets start with an IP header, which never looks like this.
            let mac = mac.count == 6 ? mac : [255, 255, 255, 255, 255, 255]
            places[place].mac = (mac[0], mac[1], mac[2], mac[3], mac[4], mac[5])
        }
        self.places = places
    }

    static func == (left: HookTable, right: HookTable) -> Bool { left.macs == right.macs }
}
