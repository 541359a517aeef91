// SPDX-License-Identifier: Apache-2.0

#if KernelModes
    internal import BPFRuntime
#endif

/// The version of this build.
enum Version {
    static let number = BuildStamp.version

    #if KernelModes
        static let hasKernelModes = true
        /// `0.1.0 (commit 0123456789ab, libbpf v1.1, BPF ABI 1)`.
        static var description: String {
            let (libbpf, abi) = (BPFRuntimeInfo.libbpfVersion, BPFRuntimeInfo.abiVersion)
            return "\(number) (commit \(commit), libbpf \(libbpf), BPF ABI \(abi))"
        }
    #else
        static let hasKernelModes = false
        static var description: String { "\(number) (commit \(commit), userspace only)" }
    #endif

    /// Twelve digits of the commit, and `-dirty` when files differed from it.
    private static var commit: String {
        let parts = BuildStamp.commit.split(separator: "-", maxSplits: 1)
        return ([parts[0].prefix(12)] + parts.dropFirst()).joined(separator: "-")
    }
}
