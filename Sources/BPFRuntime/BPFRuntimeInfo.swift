// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CLibBPF
internal import Glibc

/// What `--version` says about the kernel side.
public enum BPFRuntimeInfo {
    /// The version of the libbpf that is linked, such as `v1.1`.
    public static var libbpfVersion: String {
        // SAFETY: libbpf returns a constant string.
        unsafe String(cString: libbpf_version_string())
    }

    /// The kernel that runs, as `uname -r` prints it.
    public static var kernelRelease: String {
        var names = utsname()
        // SAFETY: the kernel fills in the structure, each text with its NUL.
        guard unsafe uname(&names) == 0 else { return "unknown" }
        return unsafe withUnsafeBytes(of: &names.release) { text in
            unsafe String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// The version of the layouts, hashes and meanings that kernel programs and daemon share
    /// (`LB_ABI_VERSION`); two builds of one version give every flow the same receiver.
    public static let abiVersion = Int(LB_ABI_VERSION)
}
