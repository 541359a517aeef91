// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
package import KernelForwarding
internal import LinuxNet
internal import Logging

// A frame that a program redirects to an interface whose driver cannot transmit it is lost without a report. So the
// plane tells the program which drivers can.

extension XDPNATPlane {
    /// Reads the XDP features of drivers.
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

    /// Tells a program the state of the interfaces.
    func passLinks(of network: NetworkView, to program: NATProgram) throws(BPFError) {
        let links = Dictionary(network.interfaces.map { ($0.index, $0.natLink) }) { $1 }
        // A cached route may lead to a changed interface.
        if try program.setLinks(links) { forgetRoutes(of: program) }
    }

    /// Logs the interfaces at which packets leave more slowly than possible.
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
    /// net/ipv4/fib_frontend.c), such as the replies of a service with such an address.
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
            "the network stack drops replies, their source is an address of this host",
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
        // A driver with XDP support sends frames back. A veth delivers them only while its peer has a program
        // (veth_xdp_flush in drivers/net/veth.c), which this end cannot see.
        if kind != "veth" { link |= LB_NAT_LINK_TX.rawValue }
        if !isUp || !hasCarrier { link |= LB_NAT_LINK_DOWN.rawValue }
        return link
    }
}
