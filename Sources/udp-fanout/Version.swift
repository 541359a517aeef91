// SPDX-License-Identifier: Apache-2.0

/// What this build is.
enum Version {
    static let number = "0.1.0"

    #if KernelModes
        static let hasKernelModes = true
        /// `0.1.0 (kernel modes)`.
        static var description: String {
            "\(number) (kernel modes)"
        }
    #else
        static let hasKernelModes = false
        static var description: String { "\(number) (userspace only)" }
    #endif
}
