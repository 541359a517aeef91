// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// What is mounted where.
public enum FileSystem {
    /// BPF_FS_MAGIC of linux/magic.h.
    private static let bpfMagic: Int64 = 0xcafe_4a11

    /// Whether the BPF file system is at `path`, where pins of kernel modes live.
    public static func isBPF(at path: String) -> Bool { unsafe cnet_file_system(path) == bpfMagic }
}
