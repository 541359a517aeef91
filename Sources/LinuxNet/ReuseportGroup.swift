// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// The sockets that share one port by SO_REUSEPORT, identified by one of them.
public struct ReuseportGroup: Sendable {
    private let member: Int32

    /// - Parameter member: a bound socket with SO_REUSEPORT, open as long as this value is used. If it is alone on its
    ///   port, the option must have been set before the bind.
    public init(member: Int32) { self.member = member }

    /// Lets `program` choose the socket for each datagram: its result is an index into the kernel's array of the group.
    /// The array is in the order of the binds; when a socket leaves, the last one takes its place. For a result beyond
    /// the array the kernel chooses.
    ///
    /// - Throws: `SystemError` EINVAL for a socket that is in no group or a program that the kernel
    ///   does not accept, ENOMEM above `net.core.optmem_max`.
    public func attach(_ program: [ClassicInstruction]) throws(SystemError) {
        let native = program.map {
            cnet_instruction(
                code: $0.code, jump_true: $0.skipIfTrue, jump_false: $0.skipIfFalse,
                operand: $0.operand)
        }
        // SAFETY: the kernel copies the instructions before the call returns.
        unsafe try check(
            "setsockopt SO_ATTACH_REUSEPORT_CBPF",
            cnet_attach_group_program(member, native, UInt32(native.count)))
    }

    /// Returns the choice to the kernel, for either kind of program.
    ///
    /// - Throws: `SystemError` ENOENT when there is none, ENOPROTOOPT before Linux 5.3.
    public func detachProgram() throws(SystemError) {
        try check("setsockopt SO_DETACH_REUSEPORT_BPF", cnet_detach_group_program(member))
    }
}

/// One instruction of classic BPF, which any user may attach to their sockets
/// (Documentation/networking/filter.rst). The machine has an accumulator, a register X, and 32-bit
/// arithmetic that wraps.
public struct ClassicInstruction: Equatable, Sendable {
    /// The operation: a code of linux/bpf_common.h.
    public let code: UInt16
    /// Instructions that a comparison skips when it is true, and when it is false.
    public let skipIfTrue: UInt8
    public let skipIfFalse: UInt8
    public let operand: UInt32

    private init(
        _ code: cnet_opcode, _ operand: UInt32 = 0, skipIfTrue: UInt8 = 0, skipIfFalse: UInt8 = 0
    ) {
        self.code = UInt16(code.rawValue)
        self.operand = operand
        self.skipIfTrue = skipIfTrue
        self.skipIfFalse = skipIfFalse
    }

    /// The accumulator becomes the word at this offset, in bytes, of the IP header.
    public static func loadNetworkWord(at offset: UInt32) -> Self {
        Self(CNET_LOAD_WORD, CNET_NETWORK_HEADER + offset)
    }

    /// The accumulator becomes the EtherType.
    public static let loadEtherType = Self(CNET_LOAD_WORD, CNET_ETHER_PROTOCOL)

    /// The accumulator becomes the number of the CPU that runs the program.
    public static let loadCPU = Self(CNET_LOAD_WORD, CNET_CPU)

    /// Continues if the accumulator is `value`, else skips `count` instructions.
    public static func unless(_ value: UInt32, skip count: UInt8) -> Self {
        Self(CNET_JUMP_IF_EQUAL, value, skipIfFalse: count)
    }

    public static let copyToX = Self(CNET_COPY_TO_X)
    public static func shiftRight(by bits: UInt32) -> Self { Self(CNET_SHIFT_RIGHT, bits) }
    public static let exclusiveOrX = Self(CNET_XOR_X)
    public static func multiply(by factor: UInt32) -> Self { Self(CNET_MULTIPLY, factor) }

    /// The remainder of the division by `divisor`, which is not 0.
    public static func modulo(_ divisor: UInt32) -> Self { Self(CNET_MODULO, divisor) }

    public static let returnAccumulator = Self(CNET_RETURN_A)
    public static func returnConstant(_ value: UInt32) -> Self { Self(CNET_RETURN_CONSTANT, value) }
}
