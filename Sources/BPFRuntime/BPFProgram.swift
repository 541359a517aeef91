// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A loaded program. It owns a descriptor, so it may outlive its object.
public struct BPFProgram: ~Copyable, Sendable {
    /// Its name in errors, such as `flow_key/lb_flow_key`.
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

    /// The result of a test run.
    public struct Run: Equatable, Sendable {
        /// The program's return value, such as `XDP_PASS`.
        public let verdict: UInt32
        /// The packet after the run.
        public let output: [UInt8]
        /// Time of one run, averaged over the repetitions, in nanoseconds.
        public let nanoseconds: UInt32
    }

    /// Runs the program on a packet without an interface (Documentation/bpf/bpf_prog_run.rst).
    ///
    /// - Parameters:
    ///   - data: the packet, from the Ethernet header on; the kernel requires 14 bytes or more.
    ///   - count: the number of runs. The packet is not reset in between: each run sees the output of the previous one.
    ///   - headroom: by how many bytes the program may lengthen the packet.
    ///   - buffer: the packet's socket buffer; for programs that have one.
    /// - Throws: `BPFError` when the kernel refuses the packet or cannot test this type of program;
    ///   with EBADMSG when the checksum of the whole packet (`SocketBuffer.isSummed`) is wrong at the end.
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
    /// The kernel's ID of it; 0 when the kernel does not report it.
    public var number: UInt32 {
        kernelInfo(of: descriptor, bpf_prog_info())?.id ?? 0
    }

    /// The name of a program in the kernel, also of another process: at most 15 characters.
    ///
    /// - Parameter number: the kernel's ID, as `bpftool prog show` prints it.
    /// - Returns: nil when there is no such program any more, or the process lacks the privilege.
    public static func name(ofNumber number: UInt32) -> String? {
        let program = bpf_prog_get_fd_by_id(number)
        guard program >= 0 else { return nil }
        defer { _ = close(program) }
        return kernelInfo(of: program, bpf_prog_info()).map { String(array: $0.name) }
    }
}

/// A program for a hook, and the maps that the next program takes over.
///
/// An XDP program comes in two kinds. Drivers need the multi-buffer kind (`xdp.frags`, Linux 5.18) when the MTU is more
/// than a page. In the network stack (`HookMode.skb`) the other one is right: for a multi-buffer program Linux 6.18
/// makes a new skb there and loses the length of its link-layer header (`skb_pp_cow_data`, net/core/skbuff.c), so later
/// programs at the TC hook look for headers in the wrong place.
public final class HookProgram: Sendable {
    private let program: BPFProgram
    /// For the network stack; nil when one kind serves every mode.
    private let skb: BPFProgram?
    private let skbDescriptor: Int32?
    package let maps: PinnedMaps?

    /// A program of one kind.
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
    /// - Parameter name: the name of the one for drivers; the other one's ends with `_skb`.
    /// - Throws: `BPFError` as `BPFObject.program(named:)`.
    package convenience init(
        xdp name: String, of object: borrowing BPFObject, maps: PinnedMaps? = nil
    ) throws(BPFError) {
        let native = try object.program(named: name)
        self.init(native: native, skb: try object.program(named: name + "_skb"), maps: maps)
    }

    var subject: String { program.subject }

    /// The kind for a mode.
    func descriptor(in mode: HookMode) -> Int32 {
        mode == .skb ? skbDescriptor ?? program.descriptor : program.descriptor
    }

    /// The kernel's ID of the kind for a mode; 0 when the kernel does not report it.
    package func number(in mode: HookMode) -> UInt32 {
        kernelInfo(of: descriptor(in: mode), bpf_prog_info())?.id ?? 0
    }
}

/// The verdict of an XDP program (`enum xdp_action`, include/uapi/linux/bpf.h). The kernel treats any other number as
/// `aborted`.
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

/// The socket buffer of a test run's packet (the settable fields of `struct __sk_buff`: net/bpf/test_run.c). A packet
/// with an Ethernet destination of zeros is for this host when the interface is the loopback.
public struct SocketBuffer: Equatable, Sendable {
    /// The interface of the packet; 0 for the loopback. It must exist.
    public var interface: UInt32
    /// The input interface; any number.
    public var ingressInterface: UInt32
    /// Bytes of payload in a segment of a super-packet (`gso_size`); 0 for any other packet.
    public var segmentBytes: UInt32
    /// Segments of a super-packet (`gso_segs`); 0 if they are not counted.
    public var segments: UInt32
    /// Whether a NIC has summed up the packet (CHECKSUM_COMPLETE): the run fails when that sum is wrong afterwards.
    /// Linux 6.11.
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

    /// The kernel's structure.
    var context: __sk_buff {
        var context = unsafe __sk_buff()
        unsafe context.ifindex = interface
        unsafe context.ingress_ifindex = ingressInterface
        unsafe context.gso_size = segmentBytes
        unsafe context.gso_segs = segments
        return unsafe context
    }
}
