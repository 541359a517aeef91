// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import KernelPrograms
import LabNet
import PlaneContract
import TCPlane
import Testing

extension TCPlaneTests {
    @Suite("with an object from a file")
    struct ObjectTests {
        /// The embedded object with other bytes in the only place where `bytes` occur.
        private func object(
            replacing bytes: [UInt8], with others: [UInt8]
        ) throws -> [UInt8] {
            var object = try #require(EmbeddedObject.tcFanout.bytes)
            let places = object.indices.filter { object[$0...].starts(with: bytes) }
            try #require(places.count == 1, "\(places)")
            object.replaceSubrange(places[0]..<places[0] + bytes.count, with: others)
            return object
        }

        private func words(_ values: UInt32...) -> [UInt8] {
            values.flatMap { value in
                (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
            }
        }

        /// The error of a start with an object.
        private func start(_ object: [UInt8]) async throws -> (error: PlaneError?, log: LogRecorder)
        {
            let (lab, pins, log) = (try VethLab(receivers: 1), try BPFFileSystem(), LogRecorder())
            let folder = try ScratchFolder()
            let path = folder.path("tc_fanout.o")
            try folder.write(object, to: "tc_fanout.o")
            let error: PlaneError? = try await lab.balancer.run {
                let stage = lab.stage(pins, logger: log.logger)
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let rig = Rig(
                    TCPlane(logger: log.logger, source: .file(path), root: pins.path))
                do throws(PlaneError) {
                    try await rig.apply([listener])
                } catch {
                    #expect(try Shell.output("tc qdisc show dev lb0").contains("clsact") == false)
                    return error
                }
                try stage.traffic(to: listener).send([1])
                try await eventually("it forwards") { sinks[0].count == 1 }
                await rig.stop()
                return nil
            }
            #expect(pins.isEmpty)
            return (error, log)
        }

        @Test("the embedded one also works from a file")
        func ours() async throws {
            let object = try #require(EmbeddedObject.tcFanout.bytes)
            let outcome = try await start(object)
            #expect(outcome.error == nil)
        }

        @Test("one of another ABI is refused, and the error has both numbers")
        func otherABI() async throws {
            let ours = UInt32(BPFRuntimeInfo.abiVersion)
            let constants = words(ours, 64, UInt32(LB_SLOTS_MIN))
            let object = try object(
                replacing: constants, with: words(ours + 7, 64, UInt32(LB_SLOTS_MIN)))
            let outcome = try await start(object)
            let error = try #require(outcome.error)
            #expect(error.operation == "open")
            #expect(error.reason == "its ABI is \(ours + 7), this daemon's \(ours)", "\(error)")
            #expect(error.remedy.contains("bpf/tc_fanout.bpf.c of this version"))
        }

        @Test("the error for a rejected one has the verifier's last lines, debug has the rest")
        func rejected() async throws {
            // Without a known licence, the kernel refuses some of its functions.
            let object = try object(
                replacing: Array("Dual BSD/GPL\0".utf8), with: Array("Proprietary!\0".utf8))
            let outcome = try await start(object)
            let error = try #require(outcome.error)
            #expect(error.operation == "load")
            #expect(error.reason.contains("the verifier's last words:"), "\(error)")
            #expect(error.reason.contains("GPL"), "\(error)")
            #expect(error.reason.split(separator: "\n").count <= 14, "\(error)")
            #expect(error.remedy.contains("needs Linux \(KernelRelease.takesFanout), and this is"))
            #expect(!error.remedy.contains("CAP_"), "nothing is missing: \(error)")
            let whole = try #require(outcome.log.lines("the verifier's log").first)
            #expect(whole.level == .debug)
            #expect(whole.fields["log"]?.contains("GPL") == true)
        }

        @Test("one without our program is refused, and the error names the program")
        func otherProgram() async throws {
            let object = try #require(EmbeddedObject.flowKey.bytes)
            let outcome = try await start(object)
            let error = try #require(outcome.error)
            #expect(error.reason == "it has no program udp_fanout", "\(error)")
        }
    }
}
