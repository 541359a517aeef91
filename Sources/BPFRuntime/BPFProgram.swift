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
