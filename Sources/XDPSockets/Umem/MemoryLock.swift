// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The limit of locked memory (RLIMIT_MEMLOCK), which the kernel holds frames against unless the process
/// has CAP_IPC_LOCK.
enum MemoryLock {
    /// Raises the limit by so many bytes: up to what the process may, or beyond with CAP_SYS_RESOURCE.
    ///
    /// - Returns: whether it has been raised.
    static func allow(_ bytes: Int) -> Bool {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(8), &limit) == 0 else { return false }
        let wanted = limit.rlim_cur &+ rlim_t(bytes)
        guard wanted > limit.rlim_cur else { return false }
        let former = limit
        limit.rlim_cur = wanted
        limit.rlim_max = max(former.rlim_max, wanted)
        if unsafe setrlimit(__rlimit_resource_t(8), &limit) == 0 { return true }
        limit.rlim_cur = former.rlim_max
        limit.rlim_max = former.rlim_max
        guard limit.rlim_cur > former.rlim_cur else { return false }
        return unsafe setrlimit(__rlimit_resource_t(8), &limit) == 0
    }
}
