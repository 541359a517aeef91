// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import Logging
import PlaneContract
import Synchronization
import Testing
import UserspacePlane

extension UserspacePlaneTests {
    @Suite("choosing its steering")
    struct SteeringChoiceTests {
        /// A steering with a scripted result.
        private final class Scripted: WorkerSteering, SteeringHold {
            let name: String
            let error: SystemError?
            /// Whether it has steered everything to the first socket when it fails.
            let failsLate: Bool
            /// The number of sockets in each call.
            let calls = Mutex<[Int]>([])
            let holds = Atomic(0)
            /// Whether a socket was closed before the steering was released.
            let outlived = Atomic(false)

            init(_ name: String, error: SystemError? = nil, failsLate: Bool = false) {
                self.name = name
                self.failsLate = failsLate
                self.error = error
            }

            func steer(
                _ sockets: [Int32], of listener: Listener
            ) throws(SystemError) -> (any SteeringHold)? {
                calls.withLock { $0.append(sockets.count) }
                if failsLate {
                    try ReuseportGroup(member: sockets[0]).attach([.returnConstant(0)])
                }
                if let error { throw error }
                return Hold(self, sockets[0])
            }

            private final class Hold: SteeringHold {
                let owner: Scripted
                let socket: Int32

                init(_ owner: Scripted, _ socket: Int32) {
                    self.owner = owner
                    self.socket = socket
                    owner.holds.add(1, ordering: .relaxed)
                }

                deinit {
                    owner.holds.subtract(1, ordering: .relaxed)
                    if fcntl(socket, F_GETFD) < 0 { owner.outlived.store(true, ordering: .relaxed) }
                }
            }
        }

        private static func rig(
            _ steerings: [any WorkerSteering], _ log: LogRecorder, _ listeners: [Listener]
        ) async throws -> Rig {
            let rig = Rig(UserspacePlane(logger: log.logger, steerings: steerings))
            try await rig.apply(listeners)
            return rig
        }

        private static func started(_ log: LogRecorder) -> String {
            log.texts.last { $0.contains("starting userspace forwarder") } ?? ""
        }

        @Test("logs how each listener is steered")
        func logged() async throws {
            let cases: [(Steer, Int, String?)] = [
                (.sourceIP, 2, "by=cbpf"), (.kernel, 2, "by=kernel"), (.sourceIP, 1, nil),
            ]
            for (steer, workers, by) in cases {
                let (sink, log) = (try Sink(), LogRecorder())
                let listener = try Stage.userspace.steered(steer, workers: workers, to: sink)
                let rig = try await Self.rig([ClassicSteering()], log, [listener])
                #expect(log.texts.allSatisfy { !$0.hasPrefix("warning") }, "\(log.texts)")
                if let by {
                    #expect(Self.started(log).contains("\(by) "), "\(log.texts)")
                    #expect(Self.started(log).contains("steer=\(steer.rawValue)"))
                } else {
                    #expect(!Self.started(log).contains("steer="))
                }
                await rig.stop()
            }
        }

        @Test("takes the first that works, and warns of nothing")
        func preference() async throws {
            let (sink, log) = (try Sink(), LogRecorder())
            let first = Scripted("first", error: SystemError("bpf", code: EPERM))
            let (second, third) = (Scripted("second"), Scripted("third"))
            let listener = try Stage.userspace.steered(workers: 3, to: sink)
            let rig = try await Self.rig([first, second, third], log, [listener])
            #expect(first.calls.withLock { $0 } == [3] && second.calls.withLock { $0 } == [3])
            #expect(third.calls.withLock { $0 } == [])
            #expect(Self.started(log).contains("by=second "))
            #expect(log.texts.allSatisfy { !$0.hasPrefix("warning") })
            #expect(
                log.texts.contains { $0.hasPrefix("debug") && $0.contains("first: bpf: EPERM") })
            await rig.stop()
        }

        @Test("warns of one that the kernel refused even if another works")
        func refused() async throws {
            let (sink, log) = (try Sink(), LogRecorder())
            let first = Scripted("first", error: SystemError("load it", code: ENOEXEC))
            let listener = try Stage.userspace.steered(workers: 2, to: sink)
            let rig = try await Self.rig([first, Scripted("second")], log, [listener])
            #expect(Self.started(log).contains("by=second "))
            #expect(
                log.texts.contains { $0.hasPrefix("warning") && $0.contains("first: load it") },
                "\(log.texts)")
            await rig.stop()
        }

        @Test("warns once with every errno when none works, and still forwards")
        func noneWorks() async throws {
            let (sink, log) = (try Sink(), LogRecorder())
            let broken = [
                Scripted("one", error: SystemError("bpf", code: EPERM)),
                Scripted("two", error: SystemError("setsockopt", code: ENOMEM), failsLate: true),
            ]
            let listener = try Stage.userspace.steered(workers: 4, to: sink)
            let rig = try await Self.rig(broken, log, [listener])
            let meetings = try await Meetings(of: manyClients, ports: 8, at: listener, sink: sink)
            #expect(!meetings.areSingle && meetings.shares.count == 4)
            let warnings = log.texts.filter { $0.hasPrefix("warning") }
            #expect(warnings.count == 1, "\(warnings)")
            #expect(warnings.first?.contains("one: bpf: EPERM (") == true)
            #expect(warnings.first?.contains("two: setsockopt: ENOMEM (") == true)
            #expect(warnings.first?.contains("listener=in") == true)
            #expect(Self.started(log).contains("by=kernel "))
            await rig.stop()
        }

        @Test("keeps a steering as long as its sockets are in service")
        func hold() async throws {
            let (sink, log) = (try Sink(), LogRecorder())
            let steering = Scripted("held")
            var listener = try Stage.userspace.steered(workers: 2, to: sink)
            let rig = try await Self.rig([steering], log, [listener])
            #expect(steering.holds.load(ordering: .relaxed) == 1)
            // A new weight keeps the sockets.
            listener.downstreams = [sink].downstreams(weights: [3])
            try await rig.apply([listener])
            #expect(steering.calls.withLock { $0 } == [2])
            listener.settings.workers = 4
            try await rig.apply([listener])
            #expect(steering.calls.withLock { $0 } == [2, 4])
            #expect(steering.holds.load(ordering: .relaxed) == 1)
            try await rig.apply([])
            #expect(steering.holds.load(ordering: .relaxed) == 0)
            let outlived = steering.outlived.load(ordering: .relaxed)
            #expect(!outlived)
        }

        @Test("leaves a shared port to the kernel, and logs it")
        func sharedPort() async throws {
            let (sink, log) = (try Sink(), LogRecorder())
            var listener = try Stage.userspace.steered(workers: 2, to: sink)
            let foreign = try Socket.listening(on: listener.bind, sharing: .joining)
            listener.settings.sharePort = true
            let rig = try await Self.rig([ClassicSteering()], log, [listener])
            #expect(log.texts.contains { $0.hasPrefix("debug workers are not steered") })
            #expect(Self.started(log).contains("by=kernel "))
            for client in manyClients { try Traffic(to: listener.bind, from: client).send([1]) }
            var stolen: UInt64 = 0
            var room = [UInt8](repeating: 0, count: 1)
            while recv(foreign.descriptor, &room, 1, Int32(MSG_DONTWAIT)) == 1 {
                stolen += 1
            }
            #expect(stolen > 0 && stolen < 64)
            try await eventually("the rest is forwarded") { sink.count == 64 - stolen }
            #expect(Set(sink.datagrams.map(\.source.port)).count == 2)
            await rig.stop()
        }
    }
}
