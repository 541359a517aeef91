// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import KernelPrograms
import CDatapath
import Glibc
import LabNet
import Testing
import Tiers

@Suite("Objects and their errors", .tags(.network))
struct BPFObjectTests {
    @Test("an object is opened without privilege and names its programs and constants")
    func opening() throws {
        let object = try BPFObject(opening: .flowKey)
        #expect(object.name == "flow_key")
        #expect(object.programNames == ["lb_flow_key", "lb_payload"])
        #expect(object.constantNames == ["lb_seed"])
    }

    @Test("bytes that form no ELF object are refused", arguments: [[], [1, 2, 3], ELF.magicAlone])
    func noObject(bytes: [UInt8]) throws {
        let error = try #require(throws: BPFError.self) {
            _ = try BPFObject(opening: bytes, name: "mine.o")
        }
        #expect(error.operation == "open")
        #expect(error.subject == "mine.o")
        #expect(error.errno > 0)
        #expect(!error.reason.isEmpty && !error.remedy.isEmpty)
    }

    @Test("the error for an unknown constant lists those of the object")
    func unknownConstant() throws {
        let error = try #require(throws: BPFError.self) {
            var object = try BPFObject(opening: .flowKey)
            try object.set("lb_sed", to: UInt64(1))
        }
        #expect(
            error.description
                == "set constant flow_key/lb_sed: ENOENT: the object has lb_seed")
    }

    @Test("a constant takes only a value of its own size")
    func constantSize() throws {
        let error = try #require(throws: BPFError.self) {
            var object = try BPFObject(opening: .flowKey)
            try object.set("lb_seed", to: UInt32(1))
        }
        #expect(error.errno == EINVAL)
        #expect(error.remedy == "it takes 8 bytes, not 4")
    }

    @Test("the error for an unknown program lists those of the object")
    func unknownProgram() throws {
        let error = try #require(throws: BPFError.self) {
            _ = try BPFObject(opening: .flowKey).program(named: "lb_flow")
        }
        #expect(
            error.description
                == "find program flow_key/lb_flow: ENOENT: the object has lb_flow_key, lb_payload")
    }

    @Test("a program is not available before its object is loaded")
    func notLoaded() throws {
        let error = try #require(throws: BPFError.self) {
            _ = try BPFObject(opening: .flowKey).program(named: "lb_flow_key")
        }
        #expect(error.remedy == "load it first")
    }

    @Test("a constant cannot be set after load", .loadsPrograms)
    func constantAfterLoad() throws {
        let error = try #require(throws: BPFError.self) {
            var object = try BPFObject(opening: .flowKey)
            try object.load()
            try object.set("lb_seed", to: UInt64(1))
        }
        #expect(error.errno == EINVAL)
        #expect(error.remedy == "set constants before load")
    }

    @Test("a rejected program keeps the end of the verifier's log", .loadsPrograms)
    func rejected() throws {
        let bytes = try flowKeyWithoutExit()
        let error = try #require(throws: BPFError.self) {
            var object = try BPFObject(opening: bytes, name: "broken")
            try object.load()
        }
        #expect(error.operation == "load" && error.subject == "broken")
        #expect(error.reason == "EINVAL")
        #expect(error.remedy.contains("verifier rejected the program"))
        #expect(error.log.contains { $0.contains("jump out of range") })
        #expect(error.description.contains("jump out of range"))
    }

    @Test(
        "a packet that is too short for the kernel is refused", .loadsPrograms,
        .enabled(
            if: KernelRelease.running > KernelRelease(5, 10),
            "NOT TESTED: Linux 5.10 accepts packets of any length"))
    func tooShort() throws {
        var object = try BPFObject(opening: .flowKey)
        try object.load()
        let program = try object.program(named: "lb_flow_key")
        let error = try #require(throws: BPFError.self) {
            _ = try BPFObjectTests.run(program, on: [1, 2, 3])
        }
        #expect(error.operation == "test" && error.subject == "flow_key/lb_flow_key")
        #expect(error.errno == EINVAL)
    }

    @Test("the error names a missing privilege")
    func permission() {
        let error = BPFError(operation: "load", subject: "flow_key", errno: EPERM)
        #expect(
            error.description
                == "load flow_key: EPERM: needs CAP_BPF and CAP_NET_ADMIN; run as root or grant both"
        )
    }

    @Test("the last lines of a long log are kept, of an empty log none")
    func logTail() {
        let log = (1...50).map { "line \($0)\n" }.joined() + "\0garbage"
        let kept = BPFError.lastLines(of: Array(log.utf8))
        #expect(kept.count == BPFError.keptLogLines)
        #expect(kept.last == "line 50")
        #expect(BPFError.lastLines(of: [0, 65]) == [])
    }

    private static func run(_ program: borrowing BPFProgram, on data: [UInt8]) throws {
        _ = try program.testRun(data: data)
    }

    /// flow_key with its exit instruction, which every program has, replaced by a jump out of range.
    private func flowKeyWithoutExit() throws -> [UInt8] {
        var bytes = try #require(EmbeddedObject.flowKey.bytes)
        let file = try #require(ELFFile(bytes))
        let code = try #require(file.sections["xdp"])
        let exit: [UInt8] = [0x95, 0, 0, 0, 0, 0, 0, 0]
        var found = false
        for place in stride(from: code.lowerBound, to: code.upperBound, by: 8)
        where bytes[place..<place + 8].elementsEqual(exit) {
            bytes.replaceSubrange(place..<place + 8, with: [0x05, 0, 0xff, 0x7f, 0, 0, 0, 0])
            found = true
        }
        try #require(found)
        return bytes
    }

    enum ELF {
        static let magicAlone: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]
    }
}
