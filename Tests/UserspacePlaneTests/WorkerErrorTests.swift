// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("with an error in a worker")
    struct WorkerErrorTests {
        /// The unconnected descriptors of this process that are bound to `endpoint`.
        private static func descriptors(at endpoint: Endpoint) -> [Int32] {
            (0..<Int32(4096)).filter { descriptor in
                var name = sockaddr_in()
                var size = socklen_t(MemoryLayout<sockaddr_in>.size)
                let isHere = withUnsafeMutablePointer(to: &name) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        getsockname(descriptor, $0, &size) == 0
                            && $0.pointee.sa_family == sa_family_t(AF_INET)
                    }
                }
                return isHere && UInt16(bigEndian: name.sin_port) == endpoint.port
                    && UInt32(bigEndian: name.sin_addr.s_addr) == endpoint.address.v4
            }
        }

        /// Makes the kernel report an error at the socket's next receive call: an ICMP error about a datagram of the
        /// socket, which an unconnected socket receives with IP_RECVERR (ip(7)).
        private static func provoke(_ descriptor: Int32, by dead: Endpoint) throws {
            var on: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            try #require(
                setsockopt(descriptor, Int32(IPPROTO_IP), 11 /* IP_RECVERR */, &on, size) == 0)
            // If the previous error is still pending, a send reports it.
            try #require((0..<100).contains { _ in send(descriptor, to: dead) })
        }

        private static func send(_ descriptor: Int32, to endpoint: Endpoint) -> Bool {
            guard var name = try? endpoint.native else { return false }
            let size = name.bytes
            return withUnsafeBytes(of: &name.words) { bytes in
                sendto(
                    descriptor, "x", 1, 0,
                    bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), size) == 1
            }
        }

        @Test("continues: every source keeps its worker")
        func errorAtTheSocket() async throws {
            let sink = try Sink()
            let listener = try Stage.userspace.steered(workers: 4, to: sink)
            let rig = try await Stage.userspace.rig([listener])
            let before = try await Meetings(of: manyClients, ports: 2, at: listener, sink: sink)
            let sockets = Self.descriptors(at: listener.bind)
            #expect(sockets.count == 4)
            let dead = try Endpoint.free()
            for round in 0..<20 {
                for socket in sockets { try Self.provoke(socket, by: dead) }
                let after = try await Meetings(
                    of: manyClients, ports: 2, at: listener, sink: sink)
                #expect(after.workers == before.workers, "round \(round)")
            }
            #expect(Probe.threads(named: "fanout-in") == 4)
            try await rig.settled(at: 64 * 2 * 21)
            await rig.stop()
        }
    }
}
