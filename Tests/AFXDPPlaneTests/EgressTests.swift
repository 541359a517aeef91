// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import AFXDPPlane

extension AFXDPPlaneTests {
    /// No device here supports zero copy, so the kernel's part of it is not tested.
    @Suite("out of an interface without a listener")
    struct EgressTests {
        @Test("with zero copy the kernel sends, since no program is there; otherwise a ring does")
        func zeroCopy() throws {
            #expect(QueueWorker.objectionToEgress(isZeroCopy: false) == nil)
            let objection = try #require(QueueWorker.objectionToEgress(isZeroCopy: true))
            #expect(objection.contains("XDP program"))
        }
    }
}
