// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import Glibc

/// The XDP features of interfaces' drivers, read over the generic netlink family `netdev`
/// (Documentation/netlink/specs/netdev.yaml, Linux 6.3).
///
/// It reads the network namespace of the thread that made it. Reading needs no privilege.
public struct Netdev: ~Copyable, Sendable {
    private var netlink: Netlink
    private let family: UInt16
    /// The multicast group of feature changes.
    let group: UInt32

    /// Constants of linux/netdev.h, which headers before Linux 6.3 lack.
    private enum Number {
        static let getDevice: UInt8 = 1
        static let index = 1
        static let features = 3
        static let group = "mgmt"
    }

    /// - Returns: nil when the kernel has no such family.
    /// - Throws: `NetlinkError` as `Netlink.init`.
    public init?() throws(NetlinkError) {
        var netlink = try Netlink(receiveBufferBytes: 1 << 18, bus: NETLINK_GENERIC)
        var request = NetlinkRequest(
            Int(GENL_ID_CTRL), genlmsghdr(cmd: UInt8(CTRL_CMD_GETFAMILY), version: 1, reserved: 0))
        request.add(CTRL_ATTR_FAMILY_NAME, Array("netdev".utf8) + [0])
        let purpose = Netlink.Purpose(operation: "look up", subject: "the netlink family netdev")
        let answer: NetlinkMessage?
        do throws(NetlinkError) {
            answer = try netlink.ask(request, purpose).first
        } catch {
            guard error.errno == ENOENT else { throw error }
            return nil
        }
        guard let attributes = answer?.parts(genlmsghdr.self)?.1,
            let family = attributes[CTRL_ATTR_FAMILY_ID]?.read(UInt16.self),
            let group = Self.group(in: attributes)
        else { throw purpose.error(EPROTO) }
        self.netlink = netlink
        (self.family, self.group) = (family, group)
    }

    /// Groups are numbered from 1.
    private static func group(in attributes: Attributes) -> UInt32? {
        guard let groups = attributes.nested(CTRL_ATTR_MCAST_GROUPS) else { return nil }
        var number = 1
        while let group = groups.nested(number) {
            if group.text(CTRL_ATTR_MCAST_GRP_NAME) == Number.group {
                return group.uint32(CTRL_ATTR_MCAST_GRP_ID)
            }
            number += 1
        }
        return nil
    }

    /// The features of every interface of the namespace, by index.
    public mutating func features() throws(NetlinkError) -> [UInt32: XDPFeatures] {
        let request = NetlinkRequest(
            Int(family), genlmsghdr(cmd: Number.getDevice, version: 1, reserved: 0), dump: true)
        let purpose = Netlink.Purpose(operation: "list", subject: "the XDP features of interfaces")
        var features: [UInt32: XDPFeatures] = [:]
        for message in try netlink.ask(request, purpose) {
            guard let attributes = message.parts(genlmsghdr.self)?.1,
                let index = attributes.uint32(Number.index)
            else { continue }
            features[index] = XDPFeatures(
                rawValue: attributes[Number.features]?.read(UInt64.self) ?? 0)
        }
        return features
    }
}

/// The XDP features of a driver (enum netdev_xdp_act of linux/netdev.h).
public struct XDPFeatures: OptionSet, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// It sends frames that a program redirects to it (NETDEV_XDP_ACT_NDO_XMIT). A veth does while its peer has an XDP
    /// program or GRO.
    public static let transmits = XDPFeatures(rawValue: 1 << 2)
    /// It also sends multi-buffer frames (NETDEV_XDP_ACT_NDO_XMIT_SG).
    public static let transmitsPieces = XDPFeatures(rawValue: 1 << 6)
}
