// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Pages for frames; given back in deinit.
@safe
struct UmemMemory: ~Copyable {
    let base: UnsafeMutableRawPointer
    let bytes: Int
    /// From the pool of huge pages.
    let isHuge: Bool

    /// What huge pages measure on most machines. Elsewhere the kernel refuses a length that is not
    /// whole pages, and normal ones serve.
    private static let hugePageBytes = 2 << 20

    /// - Returns: nil when there is no memory.
    init?(bytes: Int) {
        let huge = bytes % Self.hugePageBytes == 0 ? unsafe cnet_map_pages(bytes, 1) : nil
        guard let start = unsafe huge ?? cnet_map_pages(bytes, 0) else { return nil }
        unsafe base = start
        self.bytes = bytes
        isHuge = unsafe huge != nil
        // Fewer pages to walk for the kernel and the worker. Without them it works as well.
        if !isHuge { _ = unsafe cnet_wish_huge_pages(start, bytes) }
    }

    deinit {
        // SAFETY: mapped in init with this length; the registration that the kernel had is gone.
        _ = unsafe munmap(base, bytes)
    }
}
