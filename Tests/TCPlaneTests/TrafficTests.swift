// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension TCPlaneTests {
    @Suite("on the wire")
    struct TrafficTests {
        /// Datagrams that the receivers' hosts dropped for a wrong checksum.
        private func checksumErrors(_ lab: VethLab) throws -> Int {
            try lab.receivers.reduce(0) { sum, receiver in
                let shown = try receiver.enter {
                    try Shell.output("nstat -asz UdpInCsumErrors Udp6InCsumErrors IpInHdrErrors")
                }
                return sum
                    + shown.split(separator: "\n").filter { !$0.hasPrefix("#") }.reduce(0) {
                        $0 + (Int($1.split(separator: " ").dropFirst().first ?? "") ?? 0)
                    }
            }
        }

        @Test(
            "checksums are correct and sources are kept, with offload, without, and with GSO",
            arguments: [IPAddress.Family.v4, .v6], ["on", "off"])
        func checksums(family: IPAddress.Family, offload: String) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try lab.client.command("ethtool -K c0 tx \(offload)")
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(3, family)
                let listener = try stage.listener(
                    "in", .fourTuple, to: sinks.downstreams(), family: family)
                let rig = try await stage.rig([listener])
                var sent: UInt64 = 0
                var sources: Set<Endpoint> = []
                for number in 0..<20 {
                    let traffic = try stage.traffic(to: listener, client: number)
                    sources.insert(traffic.source)
                    for size in [0, 1, 7, 512, 1400] {
                        traffic.send((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
                    }
                    sent += 5
                    sent += UInt64(traffic.sendSuperPacket(bytes: 20_500, segment: 1000))
                    // The kernel limits the packets that wait for a neighbour.
                    try await eventually("all arrive") { sinks.total == sent }
                }
                let counters = try await rig.settled(at: sent)
                #expect(counters.packetsForwarded == sent)
                #expect(counters.bytesForwarded == sinks.map(\.bytes).reduce(0, +))
                #expect(Set(sinks.flatMap { $0.datagrams.map(\.source) }) == sources)
                await rig.stop()
            }
            #expect(try checksumErrors(lab) == 0)
        }

        @Test("a wildcard bind serves the interface's current addresses, no others")
        func wildcard() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try lab.client.ip("route add 10.99.0.0/16 via \(VethLab.v4(0, 1))")
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(1)
                var listener = try stage.listener(to: sinks.downstreams())
                listener.bind = Endpoint(.any, port: listener.bind.port)
                let rig = try await stage.rig([listener])
                let own = Endpoint(VethLab.v4(0, 1), port: listener.bind.port)
                let other = Endpoint(IPAddress("10.99.0.1")!, port: listener.bind.port)
                let source = VethLab.v4(9, 1)
                try stage.makeTraffic(own, source).send([1])
                try await rig.settled(at: 1)
                // Transit: another destination on the same port.
                let transit = try stage.makeTraffic(other, source)
                transit.send([2])
                try stage.makeTraffic(own, source).send([3])
                try await rig.settled(at: 2)

                try lab.balancer.ip("address add 10.99.0.1/32 dev lb0")
                try await eventually("the new address is served") {
                    transit.send([4])
                    return try await rig.counters().packetsReceived > 2
                }
                try lab.balancer.ip("address del 10.99.0.1/32 dev lb0")
                try await eventually("it is no longer served") {
                    let before = (count: try await rig.counters().packetsReceived, sinks[0].count)
                    for _ in 0..<5 { transit.send([5]) }
                    try stage.makeTraffic(own, source).send([6])
                    // It is the last on the wire, so the others have arrived before it or not at all.
                    try await eventually("the last one arrives") { sinks[0].count > before.1 }
                    return try await rig.counters().packetsReceived == before.count + 1
                }
                await rig.stop()
            }
        }

        @Test("a wildcard bind on an interface without an address serves nothing, which is logged")
        func wildcardOfNothing() async throws {
            let (lab, pins, log) = (try VethLab(), try BPFFileSystem(), LogRecorder())
            let said = "listener serves nothing, its interface has no address"
            try await lab.balancer.run {
                let stage = lab.stage(pins, logger: log.logger)
                var listener = try stage.listener(to: stage.sinks(1).downstreams())
                listener.bind = Endpoint(.any, port: listener.bind.port)
                try lab.balancer.ip("-4 address flush dev lb0")
                let rig = try await stage.rig([listener])
                #expect(log.lines(said).map { $0.fields["interface"] } == ["lb0"])
                try lab.balancer.ip("address add \(VethLab.v4(0, 1))/24 dev lb0")
                let own = Endpoint(VethLab.v4(0, 1), port: listener.bind.port)
                let traffic = try stage.makeTraffic(own, VethLab.v4(9, 1))
                try await eventually("it serves") {
                    traffic.send([1])
                    return try await rig.counters().packetsReceived > 0
                }
                #expect(log.lines(said).count == 1)
                await rig.stop()
            }
        }

        @Test("a listed address that no interface has is served, and `any` serves all")
        func addresses() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try lab.client.ip("route add 10.99.0.0/16 via \(VethLab.v4(0, 1))")
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(1)
                var listener = try stage.listener(to: sinks.downstreams())
                let virtual = IPAddress("10.99.0.7")!
                listener.served = .listed([virtual])
                let rig = try await stage.rig([listener])
                let (port, source) = (listener.bind.port, VethLab.v4(9, 1))
                try stage.makeTraffic(Endpoint(virtual, port: port), source).send([1])
                try stage.traffic(to: listener).send([1])
                try await rig.settled(at: 2)
                listener.served = .any
                try await rig.apply([listener])
                for address in ["10.99.3.4", "10.99.0.7"] {
                    try stage.makeTraffic(Endpoint(IPAddress(address)!, port: port), source)
                        .send([1])
                }
                try await rig.settled(at: 4)
                try await eventually("all arrive") { sinks[0].count == 4 }
                await rig.stop()
            }
        }
    }
}
