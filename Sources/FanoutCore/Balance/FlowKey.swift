// SPDX-License-Identifier: Apache-2.0

internal import CDatapath

/// The hash-based flow keys. The code is the C header that the kernel programs compile.
public enum FlowKey {
    /// The key of `source_ip`: the same for a client on IPv4 and on a dual-stack socket.
    @inlinable
    public static func sourceIP(_ source: IPAddress, seed: UInt64 = 0) -> UInt32 {
        sourceIP(high: source.high, low: source.low, seed: seed)
    }

    @usableFromInline
    static func sourceIP(high: UInt64, low: UInt64, seed: UInt64) -> UInt32 {
        lb_key_source_ip(seed, lb_addr(high: high, low: low))
    }

    /// The key of `four_tuple`.
    public static func fourTuple(
        source: Endpoint, destination: Endpoint, seed: UInt64 = 0
    ) -> UInt32 {
        var flow = lb_flow()
        flow.source = source.address.datapath
        flow.destination = destination.address.datapath
        flow.source_port = source.port
        flow.destination_port = destination.port
        // SAFETY: the C function reads the one value behind the pointer before it returns.
        return unsafe lb_key_four_tuple(seed, &flow)
    }
}
