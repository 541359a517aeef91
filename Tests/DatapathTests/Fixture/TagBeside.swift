// SPDX-License-Identifier: Apache-2.0

@testable import BPFRuntime
import CLibBPF
import Glibc
import Testing

/// A program that moves VLAN tags as the kernel does for a received frame, the outer one into the packet's metadata
/// and the inner one into the packet, and continues with another program. A plain test run leaves all tags in the
/// frame.
struct TagBeside: ~Copyable {
    let program: BPFProgram
    /// Kept open, since the kernel empties an array of programs when its last descriptor closes.
    private let array: Int32

    /// - Parameters:
    ///   - tags: EtherTypes, outermost first.
    ///   - vlans: the VLAN of each tag.
    init(_ tags: [UInt16], vlans: [UInt16], before next: borrowing BPFProgram) throws {
        let array = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "next", 4, 4, 1, nil)
        try #require(array >= 0)
        var zero: UInt32 = 0
        var descriptor = next.descriptor
        try #require(bpf_map_update_elem(array, &zero, &descriptor, 0) == 0)
        // Opcodes: 0xb7 move a number, 0xbf a register, 0x85 call, 0x18 load 64 bits, 0x95 exit.
        var code = [instruction(0xbf, to: 6, from: 1)]
        for (tag, vlan) in zip(tags, vlans).reversed() {
            code += [
                instruction(0xbf, to: 1, from: 6), instruction(0xb7, to: 2, Int32(tag.bigEndian)),
                instruction(0xb7, to: 3, Int32(0xa000 | vlan)),
                instruction(0x85, Int32(BPF_FUNC_skb_vlan_push.rawValue)),
            ]
        }
        code += [
            instruction(0xbf, to: 1, from: 6),
            instruction(0x18, to: 2, from: UInt8(BPF_PSEUDO_MAP_FD), array), 0,
            instruction(0xb7, to: 3), instruction(0x85, Int32(BPF_FUNC_tail_call.rawValue)),
            instruction(0xb7, to: 0, -1), instruction(0x95),
        ]
        let loaded = code.withUnsafeBytes { bytes in
            bpf_prog_load(
                BPF_PROG_TYPE_SCHED_CLS, "tag", "GPL",
                bytes.baseAddress!.assumingMemoryBound(to: bpf_insn.self), code.count, nil)
        }
        try #require(loaded >= 0)
        defer { close(loaded) }
        program = try BPFProgram(duplicating: loaded, subject: "tag")
        self.array = array
    }

    deinit { close(array) }
}

/// One instruction (struct bpf_insn).
private func instruction(
    _ code: UInt8, to: UInt8 = 0, from: UInt8 = 0, _ number: Int32 = 0
) -> UInt64 {
    UInt64(code) | UInt64(from << 4 | to) << 8 | UInt64(UInt32(bitPattern: number)) << 32
}
