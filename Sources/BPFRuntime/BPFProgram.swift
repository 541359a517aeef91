// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A program that the kernel has verified. It owns a descriptor of its own, so it may outlive the
/// object that it came from.
public struct BPFProgram: ~Copyable, Sendable {
    /// What errors call it, such as `flow_key/lb_flow_key`.
    public let subject: String
    /// Open until deinit; for calls that attach the program or put it into a map.
    public let descriptor: Int32

    /// - Throws: `BPFError` when the process has no descriptor left.
    init(duplicating original: Int32, subject: String) throws(BPFError) {
        let copy = fcntl(original, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else {
            throw BPFError(
                operation: "duplicate", subject: subject, errno: Glibc.errno,
                remedy: "raise the limit of open files (ulimit -n)")
        }
        self.subject = subject
        descriptor = copy
    }

    deinit { _ = close(descriptor) }

    /// What a test run gave.
    public struct Run: Equatable, Sendable {
        /// What the program returned, such as `XDP_PASS`.
        public let verdict: UInt32
        /// The packet as the program left it.
        public let output: [UInt8]
        /// Time of one run, averaged over the repetitions, in nanoseconds.
        public let nanoseconds: UInt32
    }

    /// Runs the program on a packet that comes from nowhere and goes nowhere
    /// (Documentation/bpf/bpf_prog_run.rst).
    ///
    /// - Parameters:
    ///   - data: the packet, from the Ethernet header on; the kernel wants 14 bytes or more.
    ///   - count: how often. The packet is not put back in between: each run sees what the one
    ///     before it left.
    ///   - headroom: by how many bytes the program may lengthen the packet.
    ///   - buffer: what the packet's socket buffer says of it; for programs that have one.
    /// - Throws: `BPFError` when the kernel refuses the packet or cannot test this type of program;
    ///   with EBADMSG when a sum of the whole packet (`SocketBuffer.isSummed`) is wrong in the end.
    public borrowing func testRun(
        data: [UInt8], repeat count: Int32 = 1, headroom: Int = 256, buffer: SocketBuffer? = nil
    ) throws(BPFError) -> Run {
        var output = [UInt8](repeating: 0, count: data.count + headroom)
        var context = unsafe buffer?.context ?? __sk_buff()
        var options = unsafe bpf_test_run_opts()
        unsafe options.sz = MemoryLayout<bpf_test_run_opts>.size
        unsafe options.repeat = count
        unsafe options.data_size_in = UInt32(data.count)
        unsafe options.data_size_out = UInt32(output.count)
        unsafe options.flags =
            buffer?.isSummed == true ? UInt32(BPF_F_TEST_SKB_CHECKSUM_COMPLETE) : 0
        let descriptor = descriptor
        // SAFETY: the kernel reads and writes within the sizes given, and only during the call.
        let result = unsafe data.withUnsafeBytes { input in
            unsafe output.withUnsafeMutableBytes { room in
                unsafe options.data_in = input.baseAddress
                unsafe options.data_out = room.baseAddress
                return unsafe withUnsafeBytes(of: &context) { context in
                    if buffer != nil {
                        unsafe options.ctx_in = context.baseAddress
                        unsafe options.ctx_size_in = UInt32(context.count)
                    }
                    return unsafe bpf_prog_test_run_opts(descriptor, &options)
                }
            }
        }
        guard result == 0 else {
            throw BPFError(operation: "test", subject: subject, errno: -result)
        }
        unsafe output.removeSubrange(Int(options.data_size_out)...)
        return unsafe Run(
            verdict: options.retval, output: output, nanoseconds: options.duration)
    }
}

extension BPFProgram {
    /// The kernel's number of it; 0 when the kernel does not say.
    public var number: UInt32 {
        kernelInfo(of: descriptor, bpf_prog_info())?.id ?? 0
    }

    /// The name of a program in the kernel, also of another process's: at most 15 characters.
    ///
    /// - Parameter number: the kernel's, as `bpftool prog show` prints it.
    /// - Returns: nil when there is no such program any more, or it may not be looked at.
    public static func name(ofNumber number: UInt32) -> String? {
        let program = bpf_prog_get_fd_by_id(number)
        guard program >= 0 else { return nil }
        defer { _ = close(program) }
        return kernelInfo(of: program, bpf_prog_info()).map { String(array: $0.name) }
    }
}

/// A program for a hook, and the maps that the next program takes over.
///
/// An XDP program comes in two kinds. Drivers want the one that takes packets in several pieces (`xdp.frags`,
/// Linux 5.18) when the MTU is more than a page. In the network stack (`HookMode.skb`) the other one is right: for
/// a program that takes several pieces Linux 6.18 makes a new skb there and forgets how long its link-layer header
/// is (`skb_pp_cow_data`, net/core/skbuff.c), so programs at the TC hook behind it look for headers in the wrong
/// place.
public final class HookProgram: Sendable {
    private let program: BPFProgram
    /// For the network stack; nil when one kind serves every mode.
    private let skb: BPFProgram?
    private let skbDescriptor: Int32?
    package let maps: PinnedMaps?

    /// A program that has one kind.
    package init(_ program: consuming BPFProgram, maps: PinnedMaps? = nil) {
        self.program = program
        self.maps = maps
        skb = nil
        skbDescriptor = nil
    }

    /// Two kinds that do the same.
    package init(
        native: consuming BPFProgram, skb: consuming BPFProgram, maps: PinnedMaps? = nil
    ) {
        program = native
        skbDescriptor = skb.descriptor
        self.skb = consume skb
        self.maps = maps
    }

    /// Both kinds of an XDP program.
    ///
    /// - Parameter name: of the one for drivers; the other one's has `_skb` behind it.
    /// - Throws: `BPFError` as `BPFObject.program(named:)`.
    package convenience init(
        xdp name: String, of object: borrowing BPFObject, maps: PinnedMaps? = nil
    ) throws(BPFError) {
        let native = try object.program(named: name)
        self.init(native: native, skb: try object.program(named: name + "_skb"), maps: maps)
    }

    var subject: String { program.subject }

    /// Of the kind that serves a mode.
    func descriptor(in mode: HookMode) -> Int32 {
        mode == .skb ? skbDescriptor ?? program.descriptor : program.descriptor
    }

    /// The kernel's ID of the kind that serves a mode; 0 when the kernel does not tell.
    package func number(in mode: HookMode) -> UInt32 {
        kernelInfo(of: descriptor(in: mode), bpf_prog_info())?.id ?? 0
    }
}

/// What an XDP program decides about a packet (`enum xdp_action`, include/uapi/linux/bpf.h). The
/// kernel takes any other number for `aborted`.
public enum XDPVerdict: UInt32, CaseIterable, Sendable {
    /// The program failed: dropped, and reported by the tracepoint `xdp_exception`.
    case aborted = 0
    case drop = 1
    /// On to the network stack.
    case pass = 2
    /// Back out of the interface on which it came.
    case transmit = 3
    /// To another interface, CPU or AF_XDP socket.
    case redirect = 4
}

/// What the socket buffer of a test run says of its packet (`struct __sk_buff`, as far as the kernel
/// lets it be set: net/bpf/test_run.c). A packet whose Ethernet destination is zeros is for this host
/// when the interface is the loopback.
public struct SocketBuffer: Equatable, Sendable {
    /// The interface that the packet is on; 0 for the loopback. It must exist.
    public var interface: UInt32
    /// The interface by which it came; any number.
    public var ingressInterface: UInt32
    /// Bytes of payload in a segment of a super-packet (`gso_size`); 0 for any other packet.
    public var segmentBytes: UInt32
    /// Segments of a super-packet (`gso_segs`); 0 if they are not counted.
    public var segments: UInt32
    /// Whether a NIC has summed up the packet (CHECKSUM_COMPLETE): the run fails when that sum is no
    /// longer the packet's afterwards. Linux 6.11.
    public var isSummed: Bool

    public init(
        interface: UInt32 = 0, ingressInterface: UInt32 = 0, segmentBytes: UInt32 = 0,
        segments: UInt32 = 0, isSummed: Bool = false
    ) {
        self.interface = interface
        self.ingressInterface = ingressInterface
        self.segmentBytes = segmentBytes
        self.segments = segments
        self.isSummed = isSummed
    }

    /// As the kernel reads it.
    var context: __sk_buff {
        var context = unsafe __sk_buff()
        unsafe context.ifindex = interface
        unsafe context.ingress_ifindex = ingressInterface
        unsafe context.gso_size = segmentBytes
        unsafe context.gso_segs = segments
        return unsafe context
    }
}
