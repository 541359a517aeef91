// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

extension BPFProgram {
    /// The kernel's number of it; 0 when the kernel does not say.
    public var number: UInt32 {
        var info = bpf_prog_info()
        var size = UInt32(MemoryLayout<bpf_prog_info>.size)
        // SAFETY: the kernel writes at most `size` bytes.
        guard unsafe bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 else { return 0 }
        return info.id
    }

    /// The name that a program of the kernel has, whoever loaded it: 15 characters at most.
    ///
    /// - Parameter number: the kernel's, as `bpftool prog show` prints it.
    /// - Returns: nil when there is no such program any more, or it may not be looked at.
    public static func name(ofNumber number: UInt32) -> String? {
        let program = bpf_prog_get_fd_by_id(number)
        guard program >= 0 else { return nil }
        defer { _ = close(program) }
        var info = bpf_prog_info()
        var size = UInt32(MemoryLayout<bpf_prog_info>.size)
        // SAFETY: the kernel writes at most `size` bytes, and the name with its NUL.
        guard unsafe bpf_obj_get_info_by_fd(program, &info, &size) == 0 else { return nil }
        return unsafe withUnsafeBytes(of: &info.name) { name in
            unsafe String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
