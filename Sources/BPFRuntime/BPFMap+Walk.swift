// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

extension BPFMap {
    /// Shows every entry once, in no order: all that were there from the beginning to the end, and
    /// perhaps others. A batch of the kernel's at a time; of a map of the least recently used nothing
    /// is made any younger. Not for per-CPU maps.
    ///
    /// - Parameter visit: is given a key and a value.
    package borrowing func walk(_ visit: ([UInt8], [UInt8]) -> Void) throws(BPFError) {
        // More than any bucket of a table holds, which is what the kernel wants room for.
        let room = min(max(entries, 1), 4096)
        var keys = [UInt8](repeating: 0, count: room * keyBytes)
        var values = [UInt8](repeating: 0, count: room * valueBytes)
        var place = [UInt8](repeating: 0, count: max(keyBytes, 8))
        var isFirst = true
        while true {
            var count = UInt32(room)
            var options = bpf_map_batch_opts()
            options.sz = MemoryLayout<bpf_map_batch_opts>.size
            let before = place
            // SAFETY: the kernel writes at most `count` keys and values, and a place of four bytes or a
            // key's.
            let result = unsafe before.withUnsafeBytes { before in
                unsafe place.withUnsafeMutableBytes { after in
                    unsafe bpf_map_lookup_batch(
                        descriptor,
                        isFirst ? nil : UnsafeMutableRawPointer(mutating: before.baseAddress),
                        after.baseAddress, &keys, &values, &count, &options)
                }
            }
            guard result == 0 || result == -ENOENT else {
                throw BPFError(operation: "list", subject: subject, errno: -result)
            }
            for index in 0..<Int(count) {
                visit(
                    Array(keys[index * keyBytes..<(index + 1) * keyBytes]),
                    Array(values[index * valueBytes..<(index + 1) * valueBytes]))
            }
            if result == -ENOENT { return }
            isFirst = false
        }
    }
}
