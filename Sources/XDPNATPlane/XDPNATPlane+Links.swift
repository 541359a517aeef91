// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
package import KernelForwarding
internal import LinuxNet
internal import Logging

// What a program redirects to an interface whose driver cannot transmit it is lost, and the program is not told. So
// it is told before which drivers can.

extension XDPNATPlane {
    /// Asks what the drivers of interfaces can do.
    package func complete(
        _ network: inout NetworkView, _: inout Netlink
    ) throws(NetlinkError) {
        if netdev == nil { netdev = try Netdev() }
        guard netdev != nil else { return }
        let features = try netdev!.features()
        for place in network.interfaces.indices {
            network.interfaces[place].features = features[network.interfaces[place].index] ?? []
        }
    }

    /// Has a program know the interfaces as they are.
    func passLinks(of network: NetworkView, to program: NATProgram) throws(BPFError) {
        let links = Dictionary(network.interfaces.map { ($0.index, $0.natLink) }) { $1 }
        // What was remembered of routes may lead to one that has changed.
        if try program.setLinks(links) { forgetRoutes(of: program) }
    }

    /// Says by which interfaces packets leave more slowly than they could.
    func logStack(_ network: NetworkView) {
        let isNative = hooks.all.contains { $0.mode == .native }
        let used = Set(hooks.all.map(\.interface.index)).union(
            network.paths.values.compactMap(\.interface))
        let left = network.interfaces.filter {
            isNative && used.contains($0.index) && $0.features?.contains(.transmits) != true
        }
        let names = Set(left.map(\.name))
        if !names.isSubset(of: leftToStack) {
            let isUnknown = left.contains { $0.features == nil }
            let reason =
                isUnknown
                ? "the kernel does not say what drivers can do (Linux 6.3)"
                : "no NETDEV_XDP_ACT_NDO_XMIT; a veth needs GRO or XDP at its other end"
            logger.info(
                "packets leave by the network stack, the driver does not transmit XDP frames",
                metadata: [
                    "interfaces": "\(names.sorted().joined(separator: ","))",
                    "reason": "\(reason)",
                ])
            warnOfRefusals(names, network)
        }
        leftToStack = names
    }

    /// The stack refuses a packet whose source is an address of this host (`fib_validate_source`,
    /// net/ipv4/fib_frontend.c), as the answers of a service are that is one.
    ///
    /// - Parameter names: interfaces to which packets leave by the stack.
    private func warnOfRefusals(_ names: Set<String>, _ network: NetworkView) {
        let own = Set(network.interfaces.flatMap(\.addresses))
        let services = serving?.layout.vipPorts.values.flatMap(\.services.keys) ?? []
        guard services.contains(where: { $0.address.family == .v4 && own.contains($0.address) }),
            listeners.contains(where: { $0.interface.map(names.contains) == true })
        else { return }
        let strict = hooks.all.map(\.interface.nameNow).filter { name in
            ["all", name].allSatisfy {
                KernelSetting.number("net/ipv4/conf/\($0)/accept_local") == 0
            }
        }
        guard !strict.isEmpty else { return }
        logger.warning(
            "the network stack drops answers, their source is an address of this host",
            metadata: [
                "interfaces": "\(strict.sorted().joined(separator: ","))",
                "remedy": "sysctl -w net.ipv4.conf.all.accept_local=1",
            ])
    }
}

extension HostInterface {
    /// Bits of enum lb_nat_link.
    fileprivate var natLink: UInt32 {
        var link: UInt32 = 0
        if features?.contains(.transmits) == true { link |= LB_NAT_LINK_TRANSMITS.rawValue }
        if features?.contains(.transmitsPieces) == true {
            link |= LB_NAT_LINK_TRANSMITS_PIECES.rawValue
        }
        // A driver that takes programs sends back what comes in. A veth delivers that only while the other end has a
        // program (veth_xdp_flush in drivers/net/veth.c), which this end is not told of.
        if kind != "veth" { link |= LB_NAT_LINK_TX.rawValue }
        if !isUp || !hasCarrier { link |= LB_NAT_LINK_DOWN.rawValue }
        return link
    }
}
