// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// Many entries in one call of the kernel's (BPF_MAP_UPDATE_BATCH, Linux 5.6).
extension BPFMap {
    /// Puts values behind keys, in their order; a map that is written to this way must not be a per-CPU one.
    ///
    /// Arrays of maps wait for the programs that run, and a batch waits once (since Linux 6.8) where single
    /// calls wait each (kernel/bpf/syscall.c, maybe_wait_bpf_programs). They take batches from Linux 5.19
    /// on; before that the entries are set one by one.
    package borrowing func set<Key: BitwiseCopyable, Value: BitwiseCopyable>(
        _ entries: [(key: Key, value: Value)]
    ) throws(BPFError) {
        guard entries.count > 1 else {
            for entry in entries { try set(entry.key, to: entry.value) }
            return
        }
        try fits(MemoryLayout<Key>.size, MemoryLayout<Value>.size, isWholeValue: true)
        let keys = [UInt8](native: entries.map(\.key))
        let values = [UInt8](native: entries.map(\.value))
        guard try !write(keys, values, count: entries.count) else { return }
        for entry in entries { try set(entry.key, to: entry.value) }
    }

    /// Sets the values of every CPU behind these keys to zeros.
    package borrowing func clear<Key: BitwiseCopyable>(_ keys: [Key]) throws(BPFError) {
        guard keys.count > 1 else {
            for key in keys { try clear(key) }
            return
        }
        try fits(MemoryLayout<Key>.size, 0, isWholeValue: false)
        // A part at a time: with many CPUs each value is long.
        for part in keys.parts(of: 128) {
            let values = [UInt8](repeating: 0, count: part.count * perCPUBytes * Self.cpus)
            guard try !write([UInt8](native: Array(part)), values, count: part.count) else {
                continue
            }
            for key in part { try clear(key) }
        }
    }

    private borrowing func fits(_ key: Int, _ value: Int, isWholeValue: Bool) throws(BPFError) {
        guard key == keyBytes, !isWholeValue || value == valueBytes else {
            throw BPFError(
                operation: "use", subject: subject, errno: EINVAL,
                remedy: "keys have \(keyBytes) bytes and values \(valueBytes)")
        }
    }

    /// - Returns: false when maps of this kind take no batches.
    private borrowing func write(
        _ keys: [UInt8], _ values: [UInt8], count: Int
    ) throws(BPFError) -> Bool {
        var done = UInt32(count)
        var options = bpf_map_batch_opts()
        options.sz = MemoryLayout<bpf_map_batch_opts>.size
        // SAFETY: the kernel reads `count` keys and values of the map's sizes, which they have.
        let result = unsafe bpf_map_update_batch(descriptor, keys, values, &done, &options)
        // ENOTSUPP of the kernel's own, which is no errno of user space.
        if result == -EOPNOTSUPP || result == -524 { return false }
        guard result == 0 else {
            throw BPFError(operation: "write", subject: subject, errno: -result)
        }
        return true
    }
}

extension Array {
    /// The elements in order, so many at a time.
    fileprivate func parts(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
