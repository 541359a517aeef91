// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import LinuxNet
import PlaneContract
import Testing

@testable import UserspacePlane

extension UserspacePlaneTests {
    @Suite("whose receivers reply")
    struct ReplyTests {
        /// The peer of a socket to a receiver.
        private func receiver(at endpoint: Endpoint, of socket: SendSocket) throws -> Traffic {
            let near = Endpoint(
                try socket.socket.boundAddress, port: try socket.socket.boundPort)
            return try Traffic(to: near, from: endpoint.address, port: endpoint.port)
        }

        @Test(
            "discards replies, and counts each", arguments: [IPAddress.Family.v4, .v6])
        func counted(family: IPAddress.Family) throws {
            let stage = Stage.userspace
            let downstream = Downstream(name: "a", endpoint: try .free(on: stage.listening(family)))
            let listener = try stage.listener(to: [downstream], family: family)
            let socket = try SendSocket(to: downstream, of: listener)
            let receiver = try receiver(at: downstream.endpoint, of: socket)
            for round: UInt64 in 1...3 {
                for _ in 0..<100 { #expect(receiver.send([UInt8](repeating: 1, count: 1000))) }
                let hasInput = socket.socket.hasInput
                #expect(!hasInput)
                #expect(socket.repliesDropped == 100 * round)
            }
        }

        @Test("counts a reply to a socket of several workers once")
        func sharedSocket() throws {
            let stage = Stage.userspace
            let count = PreparedTable.socketsOfOneListener / 2 + 1
            let address = IPAddress.loopback(0x0b01)
            let downstreams = (0..<count).map {
                Downstream(
                    name: "d\($0)", endpoint: Endpoint(address, port: UInt16(20_000 + $0)))
            }
            let listener = try stage.listener(to: downstreams)
            let tables = try PreparedTable.make(for: listener, workers: 2, existing: [])
            let links = tables.compactMap { $0.links[downstreams[7].endpoint] }
            #expect(links.count == 2 && links[0].socket === links[1].socket)
            let receiver = try receiver(at: downstreams[7].endpoint, of: links[0].socket)
            for _ in 0..<5 { #expect(receiver.send([1])) }
            #expect(links.map(\.sums.repliesDropped).reduce(0, +) == 5)
        }

        @Test("keeps the count of a removed receiver")
        func departed() async throws {
            let stage = Stage.userspace
            var sink: Sink? = try Sink(on: .loopback)
            let other = try Sink(on: .loopback)
            let endpoint = try #require(sink?.endpoint)
            let listener = try stage.listener(to: [Downstream(name: "a", endpoint: endpoint)])
            let rig = try await stage.rig([listener])
            try stage.traffic(to: listener).send([1])
            try await eventually("it arrives") { sink?.datagrams.count == 1 }
            let socket = try #require(sink?.datagrams.first?.source)
            // A sender can bind its port again.
            sink = nil
            let receiver = try Traffic(to: socket, from: endpoint.address, port: endpoint.port)
            for _ in 0..<10 { #expect(receiver.send([2])) }
            var counters = try await rig.counters()
            #expect(counters.repliesDropped == 10)
            #expect(counters.downstreams.map(\.repliesDropped) == [10])
            #expect(counters.packetsReceived == 1 && counters.isBalanced)

            var next = listener
            next.downstreams = [Downstream(name: "b", endpoint: other.endpoint)]
            try await rig.apply([next])
            counters = try await rig.counters()
            #expect(counters.repliesDropped == 10)
            #expect(counters.downstreams.map(\.repliesDropped) == [0])
            await rig.stop()
        }
    }
}
