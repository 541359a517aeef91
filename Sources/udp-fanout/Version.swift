// SPDX-License-Identifier: Apache-2.0

#if KernelModes
    internal import BPFRuntime
#endif

/// What this build is.
enum Version {
    static let number = "0.1.0"

    #if KernelModes
        static let hasKernelModes = true
        /// `0.1.0 (libbpf v1.1, BPF ABI 1)`.
        static var description: String {
            let (libbpf, abi) = (BPFRuntimeInfo.libbpfVersion, BPFRuntimeInfo.abiVersion)
            return "\(number) (libbpf \(libbpf), BPF ABI \(abi))"
        }
    #else
        static let hasKernelModes = false
        static var description: String { "\(number) (userspace only)" }
    #endif
}
