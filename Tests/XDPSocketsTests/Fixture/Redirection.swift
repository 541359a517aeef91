// SPDX-License-Identifier: Apache-2.0

import CLibBPF
import Glibc
import LinuxNet
import XDPSockets

/// An XDP program that redirects every packet to the socket of its queue, or passes it to the stack if there is none.
/// It is detached with its last reference.
final class Redirection {
    private let map: Int32
    private let program: Int32
    private var links: [Int32] = []

    /// Flags of an XDP link (linux/if_link.h): the hook of the interface.
    enum Mode: UInt32, CaseIterable {
        case skb = 2
        case native = 4
    }

    init(queues: UInt32 = 8) throws {
        map = bpf_map_create(BPF_MAP_TYPE_XSKMAP, "xsks", 4, 4, queues, nil)
        guard map >= 0 else { throw SystemError("create XSKMAP", code: -map) }
        // return bpf_redirect_map(&map, context->rx_queue_index, XDP_PASS). Opcodes: 0x61 load 32 bits,
        // 0x18 load 64 bits, 0xb7 move a number, 0x85 call, 0x95 exit.
        let code: [UInt64] = [
            Self.instruction(0x61, to: 2, from: 1, offset: 16),
            Self.instruction(0x18, to: 1, from: UInt8(BPF_PSEUDO_MAP_FD), number: map), 0,
            Self.instruction(0xb7, to: 3, number: 2),
            Self.instruction(0x85, number: Int32(BPF_FUNC_redirect_map.rawValue)),
            Self.instruction(0x95),
        ]
        let loaded = code.withUnsafeBytes { bytes in
            bpf_prog_load(
                BPF_PROG_TYPE_XDP, "redirect", "GPL",
                bytes.baseAddress!.assumingMemoryBound(to: bpf_insn.self), code.count, nil)
        }
        guard loaded >= 0 else { throw SystemError("load", code: -loaded) }
        program = loaded
    }

    deinit {
        for descriptor in links + [program, map] { close(descriptor) }
    }

    /// Attaches the program, in the namespace of the calling thread.
    func attach(to interface: UInt32, _ mode: Mode) throws {
        var options = bpf_link_create_opts()
        options.sz = MemoryLayout<bpf_link_create_opts>.size
        options.flags = mode.rawValue
        let link = bpf_link_create(program, Int32(interface), BPF_XDP, &options)
        guard link >= 0 else { throw SystemError("attach", code: -link) }
        links.append(link)
    }

    /// Redirects the packets of the socket's queue to it.
    func lead(to socket: borrowing XDPSocket) throws {
        var (queue, descriptor) = (socket.queue.queue, socket.descriptor)
        let result = bpf_map_update_elem(map, &queue, &descriptor, 0)
        guard result == 0 else { throw SystemError("update XSKMAP", code: -result) }
    }

    private static func instruction(
        _ code: UInt8, to: UInt8 = 0, from: UInt8 = 0, offset: UInt16 = 0, number: Int32 = 0
    ) -> UInt64 {
        UInt64(code) | UInt64(from << 4 | to) << 8 | UInt64(offset) << 16
            | UInt64(UInt32(bitPattern: number)) << 32
    }
}
