// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// The sockets that share one port by SO_REUSEPORT, known by one of them.
public struct ReuseportGroup: Sendable {
    private let member: Int32

    /// - Parameter member: a bound socket with SO_REUSEPORT, open as long as this value is used. Alone on
    ///   its port it has to have had the option before the bind.
    public init(member: Int32) { self.member = member }

    /// Has `program` choose the socket for each datagram from now on: its result is an index into the
    /// kernel's array of the group. The array is in the order of the binds; when a socket leaves, the
    /// last takes its place. With a result beyond the array the kernel chooses.
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

    /// Leaves the choice to the kernel again, whichever kind of program there is.
    ///
    /// - Throws: `SystemError` ENOENT when there is none, ENOPROTOOPT before Linux 5.3.
    public func detachProgram() throws(SystemError) {
        try check("setsockopt SO_DETACH_REUSEPORT_BPF", cnet_detach_group_program(member))
    }
}
