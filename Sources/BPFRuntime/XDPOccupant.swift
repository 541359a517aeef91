// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF

/// The XDP program that an interface has, whoever put it there. There is room for one in each mode, and
/// only one mode at a time is in use.
public struct XDPOccupant: Equatable, Sendable {
    public let mode: XDPMode
    /// The kernel's number of it, as `bpftool prog show` prints it.
    public let number: UInt32
    /// 15 characters at most; nil when it may not be looked at.
    public let name: String?

    /// The program of an interface; nil when it has none.
    ///
    /// - Throws: `BPFError` with ENODEV when there is no such interface.
    public static func of(interface: UInt32) throws(BPFError) -> XDPOccupant? {
        var found = bpf_xdp_query_opts()
        // Up to the last field: libbpf wants zeros behind it.
        found.sz =
            (MemoryLayout<bpf_xdp_query_opts>.offset(of: \.attach_mode)
                ?? MemoryLayout<bpf_xdp_query_opts>.size - 1) + 1
        // SAFETY: libbpf writes within the size that is set.
        let result = unsafe bpf_xdp_query(Int32(bitPattern: interface), 0, &found)
        guard result == 0 else {
            throw BPFError(
                operation: "ask for the XDP program of", subject: "interface \(interface)",
                errno: -result)
        }
        for (mode, number) in [(XDPMode.native, found.drv_prog_id), (.skb, found.skb_prog_id)]
        where number != 0 {
            return XDPOccupant(
                mode: mode, number: number, name: BPFProgram.name(ofNumber: number))
        }
        return nil
    }
}
