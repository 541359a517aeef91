// SPDX-License-Identifier: Apache-2.0

import CDatapath
import CLibBPF
import Testing

// The interfaces that the program takes as hooked.

extension NATFixture {
    /// The interface of packets in a test run; its own address is all zeros.
    static let loopback: UInt32 = 1

    /// Tells the program that it is attached to an interface.
    func hook(_ interface: UInt32, mac: UInt8 = 0, place: UInt32? = nil) throws {
        var hook = lb_nat_hook()
        hook.ifindex = interface
        hook.mac.5 = mac
        hooked[Int(place ?? interface)] = hook
        try writeHooked()
    }

    /// Tells the program that this place has no interface.
    func unhook(place: UInt32) throws {
        hooked[Int(place)] = lb_nat_hook()
        try writeHooked()
    }

    private func writeHooked() throws {
        var zero: UInt32 = 0
        try hooked.withUnsafeBytes { value in
            let map = descriptor(LB_NAT_HOOKS_MAP)
            try #require(bpf_map_update_elem(map, &zero, value.baseAddress, 0) == 0)
        }
    }
}
