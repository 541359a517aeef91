// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import KernelForwarding
import LabNet
import Testing

@testable import TCPlane

extension TCPlaneTests {
    @Suite("reads the network while slot tables are built")
    struct AnticipatedTests {
        private static let receivers: [UInt32] = [1, 2, 3]

        private static func listener(
            to receivers: [UInt32] = receivers, by interface: String = "lb0", weight: UInt16 = 1
        ) -> Listener {
            var listener = Listener(
                name: "in", bind: Endpoint(IPAddress(v4: 9), port: 514),
                downstreams: receivers.map {
                    Downstream(
                        name: "\($0)", endpoint: Endpoint(IPAddress(v4: $0), port: 514),
                        weight: weight)
                })
            listener.interface = interface
            return listener
        }

        @Test("and not again for the same receivers and interfaces")
        func same() {
            let anticipated = Anticipated(7, for: [Self.listener()])
            #expect(anticipated.seen(for: [Self.listener(weight: 5)]) == 7)
        }

        @Test("and again for others")
        func others() {
            let anticipated = Anticipated(7, for: [Self.listener()])
            #expect(anticipated.seen(for: [Self.listener(to: [1, 2])]) == nil)
            #expect(anticipated.seen(for: [Self.listener(to: [1, 2, 4])]) == nil)
            #expect(anticipated.seen(for: [Self.listener(by: "lb1")]) == nil)
            #expect(anticipated.seen(for: []) == nil)
            #expect(anticipated.seen(for: [Self.listener(), Self.listener()]) == nil)
        }

        @Test(
            "and follows a route change meanwhile, reported before or after",
            arguments: [true, false])
        func meanwhile(isToldBefore: Bool) async throws {
            let virtual = try #require(IPAddress("10.40.0.1"))
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            for receiver in lab.receivers[..<2] {
                try receiver.ip("address add \(virtual)/32 dev lo")
            }
            let previous = try lab.receivers[0].enter { try Sink(on: VethLab.v4(1, 2)) }
            let port: UInt16 = 9000
            let sinks = try lab.receivers[..<2].map {
                try $0.enter { try Sink(on: virtual, port: port) }
            }
            try await lab.balancer.run {
                try lab.balancer.ip("route add \(virtual) via \(VethLab.v4(1, 2))")
                let stage = lab.stage(pins)
                let listener = try stage.listener(to: [previous].downstreams())
                let rig = try await stage.rig([listener])
                let plane = try #require(rig.plane as? TCPlane)
                var next = listener
                next.downstreams = [
                    Downstream(name: "v", endpoint: Endpoint(virtual, port: port))
                ]
                let change = Change.diff(
                    from: DesiredState(listeners: [listener]),
                    to: DesiredState(listeners: [next]))
                // The lab's setup may cause events that are followed meanwhile.
                try await eventually("the network is quiet") {
                    await rig.plane.anticipate(change)
                    try await Task.sleep(for: .milliseconds(200))
                    return await plane.hasAnticipated
                }
                try lab.balancer.ip("route replace \(virtual) via \(VethLab.v4(2, 2))")
                if isToldBefore {
                    try await eventually("the network is followed") {
                        await !plane.hasAnticipated
                    }
                }
                try await rig.apply([next])
                let traffic = try stage.traffic(to: next)
                try await eventually("datagrams arrive where the route leads") {
                    traffic.send([1])
                    return sinks[1].count > 0
                }
                await rig.stop()
            }
        }
    }
}
