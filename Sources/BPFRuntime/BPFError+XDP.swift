// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

extension BPFError {
    /// An XDP program that an interface did not take. The kernel gives its reason to a tracepoint alone
    /// (`bpf:bpf_xdp_link_attach_failed`), so the errno has to do.
    init(attaching subject: String, to interface: UInt32, _ mode: XDPMode, errno code: Int32) {
        let known = Self.name(ofInterface: interface)
        let name = known ?? "\(interface)"
        // For an interface that is not there the kernel says EINVAL.
        let code = known == nil && code == EINVAL ? ENODEV : code
        // EBUSY and EEXIST also mean a program of the other mode; one that has just gone is not named.
        if code == EBUSY || code == EEXIST {
            let other = try? XDPOccupant.of(interface: interface)
            self.init(
                operation: "attach", subject: subject, errno: EBUSY,
                reason: other.map {
                    "the XDP program \($0.name ?? "without a name") (number \($0.number), "
                        + "\($0.mode.rawValue)) of another tool is there"
                },
                remedy:
                    "end that tool (bpftool net show dev \(name) and bpftool link show find it; "
                    + "ip link set dev \(name) xdp off removes what no link holds), or use another "
                    + "mode here")
            return
        }
        self.init(
            operation: "attach", subject: "\(subject) (\(mode.rawValue))", errno: code,
            remedy: Self.remedy(for: code, name, mode))
    }

    private static func remedy(for code: Int32, _ name: String, _ mode: XDPMode) -> String? {
        switch code {
        case ENODEV: return "there is no such interface any more"
        case EOPNOTSUPP:
            return mode == .skb
                ? nil
                : "the driver has no XDP, or not beside these: "
                    + "ethtool -K \(name) lro off rx-gro-hw off"
        // veth says ERANGE, other drivers EINVAL.
        case ERANGE, EINVAL:
            return "the MTU may be too large for the driver: ip link set dev \(name) mtu 1500, and "
                + "the same at the other end of a veth"
        // veth counts its queues against its peer's; virtio_net and others need a spare one a CPU.
        case ENOSPC, ENOMEM:
            // SAFETY: the call reads the name before it returns.
            return unsafe cnet_has_combined_queues(name) == 0
                ? "there are too few queues: ethtool -L \(name) rx N tx N (a veth needs as many to "
                    + "receive as its other end has to transmit)"
                : "the driver wants other queues: ethtool -L \(name) combined N"
        default: return nil
        }
    }

    private static func name(ofInterface interface: UInt32) -> String? {
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        // SAFETY: the C library writes at most IF_NAMESIZE bytes, NUL included.
        guard unsafe if_indextoname(interface, &name) != nil else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
