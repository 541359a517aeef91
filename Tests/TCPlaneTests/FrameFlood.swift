// SPDX-License-Identifier: Apache-2.0

import CLibBPF
import FanoutCore
import Glibc
import LinuxNet
import KernelForwarding
import Synchronization

/// Datagrams of 18 bytes that come in by an interface as fast as the kernel makes them: an XDP program
/// writes each frame's headers, and BPF_PROG_TEST_RUN sends the frames up as if a driver had received
/// them (BPF_F_TEST_XDP_LIVE_FRAMES, Documentation/bpf/bpf_prog_run.rst; Linux 5.18).
///
/// The kernel reuses frames as they came back, so the program writes all 42 bytes of headers. There are 65536 source
/// addresses and about as many ports.
final class FrameFlood: Sendable {
    /// Frames in one call of the kernel. Each call sets up a page pool and waits for a grace period, so they must be
    /// many.
    static let portion = 50_000
    private static let liveFrames: UInt32 = 1 << 1
    private static let frameBytes = 60

    private let program: Int32
    private let interface: UInt32
    private let counted = Atomic<UInt64>(0)
    private let trouble = Atomic<Int32>(0)
    private let ending = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// Starts, in the network of the calling thread.
    ///
    /// - Parameters:
    ///   - destination: an IPv4 address and a port.
    ///   - interface: the name of the one where the frames come in.
    init(to destination: Endpoint, by interface: String) throws {
        var netlink = try Netlink()
        guard let link = try netlink.link(named: interface), let mac = link.mac else {
            throw SystemError("find \(interface)", code: ENODEV)
        }
        self.interface = link.index
        let code = Self.code(Self.headers(to: destination, mac.bytes))
        program = code.withUnsafeBytes { bytes in
            bpf_prog_load(
                BPF_PROG_TYPE_XDP, "flood", "GPL",
                bytes.baseAddress!.assumingMemoryBound(to: bpf_insn.self), code.count, nil)
        }
        guard program >= 0 else { throw SystemError("load the flood", code: -program) }
        try thread.withLock {
            $0 = try Thread(name: "flood") { [unowned self] in
                while !ending.load(ordering: .acquiring), run() {}
            }
        }
    }

    deinit {
        end()
        if program >= 0 { close(program) }
    }

    /// Frames so far, without those on their way.
    var sent: UInt64 { counted.load(ordering: .acquiring) }

    /// Stops, and returns the number of frames.
    func stop() throws -> UInt64 {
        end()
        let code = trouble.load(ordering: .acquiring)
        guard code == 0 else { throw SystemError("send live frames", code: code) }
        return sent
    }

    private func end() {
        ending.store(true, ordering: .releasing)
        thread.withLock { $0.take() }?.join()
    }

    /// Sends one portion; the kernel has processed all of it when the call returns.
    private func run() -> Bool {
        let frame = [UInt8](repeating: 0, count: Self.frameBytes)
        var context = xdp_md()
        context.data_end = UInt32(frame.count)
        context.ingress_ifindex = interface
        var options = bpf_test_run_opts()
        options.sz = MemoryLayout<bpf_test_run_opts>.size
        options.repeat = Int32(Self.portion)
        options.flags = Self.liveFrames
        let result = frame.withUnsafeBytes { frame in
            withUnsafeBytes(of: &context) { context in
                options.data_in = frame.baseAddress
                options.data_size_in = UInt32(frame.count)
                options.ctx_in = context.baseAddress
                options.ctx_size_in = UInt32(context.count)
                return bpf_prog_test_run_opts(program, &options)
            }
        }
        // A signal ends a run early, with an unknown number of frames.
        guard result == 0 else {
            trouble.store(-result, ordering: .releasing)
            return false
        }
        counted.add(UInt64(Self.portion), ordering: .releasing)
        return true
    }

    // MARK: What it sends

    /// Ethernet, IPv4, UDP without a checksum; the source is 198.18.0.0. The IP checksum is correct for every source
    /// whose last two bytes are the complement of the identification.
    private static func headers(to destination: Endpoint, _ mac: [UInt8]) -> [UInt8] {
        var headers = mac + [2, 0, 0, 0, 0, 9, 0x08, 0x00]
        var ip: [UInt8] = [0x45, 0, 0, 46, 0xff, 0xff, 0, 0, 64, 17, 0, 0, 198, 18, 0, 0]
        let address = UInt32(truncatingIfNeeded: destination.address.low)
        ip += withUnsafeBytes(of: address.bigEndian) { Array($0) }
        var sum: UInt32 = 0
        for at in stride(from: 0, to: ip.count, by: 2) {
            sum += UInt32(ip[at]) << 8 + UInt32(ip[at + 1])
        }
        sum = sum & 0xffff + sum >> 16
        let check = ~UInt16(truncatingIfNeeded: sum & 0xffff + sum >> 16)
        (ip[10], ip[11]) = (UInt8(check >> 8), UInt8(check & 0xff))
        headers += ip
        let port = destination.port
        return headers + [0, 0, UInt8(port >> 8), UInt8(port & 0xff), 0, 26, 0, 0]
    }

    /// Writes the headers, puts 16 random bits into source address and port, and passes the frame on.
    private static func code(_ headers: [UInt8]) -> [UInt64] {
        // Opcodes: 0xb7 move a number, 0xbf and 0xbc a register of 64 and 32 bits, 0x61 load 32 bits, 0x7a
        // and 0x62 and 0x6a store a number of 64, 32 and 16 bits, 0x6b store 16 bits of a register, 0x57 and,
        // 0x47 or, 0xa7 xor, 0x07 add, 0x2d jump if greater, 0x85 call, 0x95 exit.
        var stores: [UInt64] = []
        for at in stride(from: 0, to: 40, by: 4) {
            let word = headers[at..<at + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            stores.append(
                instruction(0x62, to: 2, offset: Int16(at), Int32(bitPattern: word)))
        }
        stores += [
            instruction(0x6a, to: 2, offset: 40),
            instruction(0x6b, to: 2, from: 7, offset: 28),
            instruction(0xbf, to: 8, from: 7), instruction(0xa7, to: 8, 0xffff),
            instruction(0x6b, to: 2, from: 8, offset: 18),
            // No port is 0.
            instruction(0x47, to: 7, 4), instruction(0x6b, to: 2, from: 7, offset: 34),
            instruction(0xb7, to: 0, Int32(XDP_PASS.rawValue)), instruction(0x95),
        ]
        return [
            instruction(0xbf, to: 6, from: 1),
            instruction(0x85, Int32(BPF_FUNC_get_prandom_u32.rawValue)),
            instruction(0xbf, to: 7, from: 0), instruction(0x57, to: 7, 0xffff),
            instruction(0x61, to: 2, from: 6), instruction(0x61, to: 3, from: 6, offset: 4),
            instruction(0xbf, to: 4, from: 2), instruction(0x07, to: 4, 42),
            instruction(0x2d, to: 4, from: 3, offset: Int16(stores.count)),
        ] + stores + [
            instruction(0xb7, to: 0, Int32(XDP_ABORTED.rawValue)), instruction(0x95),
        ]
    }

    /// One instruction (struct bpf_insn).
    private static func instruction(
        _ code: UInt8, to: UInt8 = 0, from: UInt8 = 0, offset: Int16 = 0, _ number: Int32 = 0
    ) -> UInt64 {
        UInt64(code) | UInt64(from << 4 | to) << 8
            | UInt64(UInt16(bitPattern: offset)) << 16
            | UInt64(UInt32(bitPattern: number)) << 32
    }
}
