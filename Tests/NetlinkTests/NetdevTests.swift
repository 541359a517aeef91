// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import KernelForwarding
import Synchronization
import Testing

extension NetlinkTests {
    @Suite("on what drivers can do with XDP frames")
    struct NetdevTests {
        @Test("a veth transmits while its other end has GRO; changes are reported")
        func veth() async throws {
            let (near, far) = (try Network(), try Network())
            try VethLab.connect(near, "near", far, "far", subnet: 1)
            try far.command("ethtool -K far gro off")
            try await near.run {
                let index = if_nametoindex("near")
                guard var netdev = try Netdev() else {
                    #expect(KernelRelease.running < KernelRelease(6, 3))
                    return
                }
                let changes = Atomic(0)
                let monitor = try NetlinkMonitor(netdev) { event in
                    if event == .features { changes.add(1, ordering: .relaxed) }
                }
                let before = try netdev.features()
                #expect(before[index]?.contains(.transmits) == false)
                #expect(before[if_nametoindex("lo")]?.contains(.transmits) == false)
                try far.command("ethtool -K far gro on")
                let during = try netdev.features()
                #expect(during[index]?.isSuperset(of: [.transmits, .transmitsPieces]) == true)
                try await eventually("it is reported") { changes.load(ordering: .relaxed) > 0 }
                try far.command("ethtool -K far gro off")
                let after = try netdev.features()
                #expect(after[index]?.contains(.transmits) == false)
                monitor.stop()
            }
        }
    }
}
