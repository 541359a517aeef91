// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF

/// A program of a section `tp_btf/NAME` at the tracepoint NAME. It goes with the link.
package struct TracepointLink: ~Copyable, Sendable {
    private let link: BPFLink

    /// - Throws: `BPFError` with EPERM when CAP_BPF or CAP_PERFMON is missing.
    package init(attaching program: borrowing BPFProgram) throws(BPFError) {
        // The kernel has the name from the program.
        let opened = bpf_raw_tracepoint_open(nil, program.descriptor)
        guard opened >= 0 else {
            throw BPFError(operation: "attach", subject: program.subject, errno: -opened)
        }
        link = BPFLink(
            owning: opened, subject: program.subject, type: BPF_LINK_TYPE_TRACING.rawValue)
    }
}
