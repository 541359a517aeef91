// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

extension Netlink {
    // MARK: Links

    /// Every interface of the namespace, by index.
    public mutating func links() throws(NetlinkError) -> [NetworkLink] {
        var request = NetlinkRequest(RTM_GETLINK, ifinfomsg(), dump: true)
        request.leaveOutStatistics()
        let purpose = Purpose(operation: "list", subject: "the interfaces")
        return try ask(request, purpose).compactMap(NetworkLink.init).sorted { $0.index < $1.index }
    }

    /// The interface with this name, or (Linux 5.5) this alternative name; nil if there is none.
    public mutating func link(named name: String) throws(NetlinkError) -> NetworkLink? {
        var request = NetlinkRequest(RTM_GETLINK, ifinfomsg())
        let isLong = name.utf8.count >= Int(IFNAMSIZ)
        request.add(Int(isLong ? IFLA_ALT_IFNAME : IFLA_IFNAME), Array(name.utf8.prefix(127)) + [0])
        request.leaveOutStatistics()
        return try one(request, "interface \(name)", none: [ENODEV, EINVAL])
            .flatMap(NetworkLink.init)
    }

    /// The interface with this index; nil when there is none.
    public mutating func link(index: UInt32) throws(NetlinkError) -> NetworkLink? {
        guard let index = Int32(exactly: index), index > 0 else { return nil }
        var header = ifinfomsg()
        header.ifi_index = index
        var request = NetlinkRequest(RTM_GETLINK, header)
        request.leaveOutStatistics()
        return try one(request, "interface \(index)", none: [ENODEV]).flatMap(NetworkLink.init)
    }

    // MARK: Addresses

    /// The IPv4 and IPv6 addresses of an interface; none when there is no such interface.
    public mutating func addresses(
        of interface: UInt32
    ) throws(NetlinkError) -> [InterfaceAddress] {
        try addresses().filter { $0.interface == interface }
    }

    /// The IPv4 and IPv6 addresses of every interface of the namespace.
    public mutating func addresses() throws(NetlinkError) -> [InterfaceAddress] {
        // The kernel could filter by interface. But then it does not report that the table changed during the dump,
        // and omits addresses that did not change: for one interface inet_dump_ifaddr (net/ipv4/devinet.c) never
        // sets cb->seq. Seen on Linux 6.18.
        let request = NetlinkRequest(RTM_GETADDR, ifaddrmsg(), dump: true)
        let purpose = Purpose(operation: "list", subject: "the addresses of the interfaces")
        return try ask(request, purpose).compactMap(InterfaceAddress.init)
    }

    // MARK: Rules

    /// The policy rules (ip-rule(8)) of both families.
    public mutating func rules() throws(NetlinkError) -> [PolicyRule] {
        let request = NetlinkRequest(RTM_GETRULE, fib_rule_hdr(), dump: true)
        return try ask(request, Purpose(operation: "list", subject: "the routing rules"))
            .compactMap(PolicyRule.init)
    }

    // MARK: Neighbours

    /// The neighbours on an interface; none when there is no such interface.
    ///
    /// The kernel never reports that this table changed during the dump, so a neighbour may be missing when others are
    /// removed at that moment. For one host use `neighbour(of:on:)`.
    public mutating func neighbours(on interface: UInt32) throws(NetlinkError) -> [Neighbour] {
        var request = NetlinkRequest(RTM_GETNEIGH, ndmsg(), dump: true)
        request.add(NDA_IFINDEX, interface)
        let purpose = Purpose(
            operation: "list the neighbours on", subject: "interface \(interface)")
        return try ask(request, purpose).compactMap(Neighbour.init)
            .filter { $0.interface == interface }
    }

    /// One neighbour; nil when the kernel has no entry. Needs Linux 5.0.
    ///
    /// - Parameter address: its zone is ignored, `interface` counts.
    public mutating func neighbour(
        of address: IPAddress, on interface: UInt32
    ) throws(NetlinkError) -> Neighbour? {
        var header = ndmsg()
        header.ndm_family = address.familyNumber
        header.ndm_ifindex = Int32(bitPattern: interface)
        var request = NetlinkRequest(RTM_GETNEIGH, header)
        request.add(NDA_DST, address.networkBytes)
        return try one(request, "neighbour \(address) on interface \(interface)", none: [ENOENT])
            .flatMap(Neighbour.init)
    }

    /// Tells the kernel that a host is in use: the kernel resolves an unknown host, and probes one that it has not
    /// heard from for a while, as for a packet (NTF_USE). Needs CAP_NET_ADMIN. Returns before there is a reply.
    ///
    /// - Throws: `NetlinkError` ENODEV, EINVAL when the interface cannot have neighbours.
    public mutating func use(_ address: IPAddress, on interface: UInt32) throws(NetlinkError) {
        var header = ndmsg()
        header.ndm_family = address.familyNumber
        header.ndm_ifindex = Int32(bitPattern: interface)
        header.ndm_flags = UInt8(NTF_USE)
        // The kernel wants a state for a new entry; with this flag it starts from NONE.
        header.ndm_state = UInt16(NUD_NONE)
        var request = NetlinkRequest(changing: Int(RTM_NEWNEIGH), header, flags: NLM_F_CREATE)
        request.add(NDA_DST, address.networkBytes)
        _ = try ask(
            request,
            Purpose(operation: "use", subject: "neighbour \(address) on interface \(interface)"))
    }

    /// The reply to a request for one object; nil when the kernel reports with an errno of `none` that it does not
    /// exist.
    private mutating func one(
        _ request: NetlinkRequest, _ subject: String, none: [Int32]
    ) throws(NetlinkError) -> NetlinkMessage? {
        do throws(NetlinkError) {
            return try ask(request, Purpose(operation: "look up", subject: subject)).first
        } catch {
            if none.contains(error.errno) { return nil }
            throw error
        }
    }
}

extension NetlinkRequest {
    /// Replies about links have kilobytes of counters unless this flag is set (RTEXT_FILTER_SKIP_STATS).
    fileprivate mutating func leaveOutStatistics() {
        add(IFLA_EXT_MASK, UInt32(RTEXT_FILTER_SKIP_STATS))
    }
}

extension IPAddress {
    /// AF_INET or AF_INET6.
    var familyNumber: UInt8 { UInt8(family == .v4 ? AF_INET : AF_INET6) }
}
