// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A map of AF_XDP sockets (BPF_MAP_TYPE_XSKMAP), by queue number. A closed socket leaves it by itself; its entries
/// cannot be read.
extension BPFMap {
    /// Makes packets that a program redirects to an entry arrive at a socket.
    ///
    /// - Parameters:
    ///   - socket: the descriptor of an AF_XDP socket that is bound to this queue; packets of another queue or
    ///     interface would be lost.
    ///   - queue: below `entries`.
    /// - Throws: `BPFError`: EOPNOTSUPP when the descriptor is not such a socket, E2BIG for a queue beyond the map's
    ///   capacity.
    public borrowing func steer(queue: UInt32, to socket: Int32) throws(BPFError) {
        var (key, value) = (queue, socket)
        // SAFETY: both have the sizes that such a map has by definition (kernel/bpf/xskmap.c).
        let result = unsafe bpf_map_update_elem(descriptor, &key, &value, UInt64(BPF_ANY))
        guard result == 0 else {
            throw BPFError(
                operation: "set the socket of queue \(queue) in", subject: subject, errno: -result,
                remedy: result == -E2BIG
                    ? "the map has room for \(entries) queues"
                    : "give the descriptor of an AF_XDP socket")
        }
    }
}

extension BPFMap {
    /// Visits every entry once, in no order: all that exist from the beginning to the end, and perhaps others. Reads
    /// one batch of the kernel at a time, and does not refresh entries of an LRU map. Not for per-CPU maps.
    ///
    /// - Parameter visit: gets a key and a value.
    package borrowing func walk(_ visit: ([UInt8], [UInt8]) -> Void) throws(BPFError) {
        // More than any bucket of a hash table has, which is the size that the kernel requires.
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

/// The memory layout of values in maps that kernel programs share.
extension [UInt8] {
    /// The bytes of a C structure or an integer. Padding would be copied with any content, so the headers in
    /// bpf/include assert that there is none.
    public init(native value: some BitwiseCopyable) {
        // SAFETY: the bytes of a trivial value, copied before the closure returns.
        self = unsafe Swift.withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
    }

    /// The bytes of all elements, one after the other.
    public init(native values: [some BitwiseCopyable]) {
        // SAFETY: as above; an array's elements of such a type lie side by side.
        self = unsafe values.withUnsafeBytes { unsafe [UInt8]($0) }
    }

    /// The C structure or integer with these bytes; there must be enough of them.
    package func read<Value: BitwiseCopyable>(_ type: Value.Type) -> Value {
        precondition(count >= MemoryLayout<Value>.size, "too few bytes")
        // SAFETY: there are enough bytes, of a trivial type.
        return unsafe withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
    }

    /// The integers in the bytes, from the first on; the bytes of an incomplete one are left out.
    public func words<Word: FixedWidthInteger & BitwiseCopyable>(of type: Word.Type) -> [Word] {
        let size = MemoryLayout<Word>.size
        // SAFETY: each load lies within the buffer, which has `count / size` of them.
        return unsafe withUnsafeBytes { raw in
            (0..<count / size).map {
                unsafe raw.loadUnaligned(fromByteOffset: $0 * size, as: Word.self)
            }
        }
    }
}
