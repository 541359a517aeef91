// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A map in the kernel. It owns a descriptor, so it may outlive its object.
///
/// Keys and values are trivial values or bytes of exactly the map's sizes; another size is EINVAL.
public struct BPFMap: ~Copyable, Sendable {
    /// Its name in errors, such as `tc_fanout/listeners`.
    public let subject: String
    /// Open until deinit; for calls that put the map into another one.
    public let descriptor: Int32
    /// Bytes of a key and of a value (of one CPU's value in a per-CPU map), and the maximum of entries.
    public let keyBytes: Int
    public let valueBytes: Int
    public let entries: Int

    /// - Parameter owned: an open descriptor, which the map closes.
    /// - Throws: `BPFError` when it is not a map's; it is closed then.
    init(owning owned: Int32, subject: String) throws(BPFError) {
        guard let info = kernelInfo(of: owned, bpf_map_info()) else {
            let code = Glibc.errno
            _ = close(owned)
            throw BPFError(operation: "inspect map", subject: subject, errno: code)
        }
        self.subject = subject
        descriptor = owned
        keyBytes = Int(info.key_size)
        valueBytes = Int(info.value_size)
        entries = Int(info.max_entries)
    }

    /// A new array of one element, for an array of maps.
    ///
    /// - Parameters:
    ///   - name: the name for bpftool; at most 15 characters.
    ///   - valueBytes: the size in the other map's template.
    public init(singleNamed name: String, valueBytes: Int) throws(BPFError) {
        // SAFETY: the name is read before the call returns.
        let created = unsafe bpf_map_create(
            BPF_MAP_TYPE_ARRAY, name, UInt32(MemoryLayout<UInt32>.size), UInt32(valueBytes), 1, nil)
        guard created >= 0 else {
            throw BPFError(operation: "create map", subject: name, errno: -created)
        }
        try self.init(owning: created, subject: name)
    }

    deinit { _ = close(descriptor) }

    /// The value of `key`; nil when there is none. Not for per-CPU maps.
    public borrowing func value(of key: some BitwiseCopyable) throws(BPFError) -> [UInt8]? {
        try read(key, bytes: valueBytes)
    }

    /// The values of all CPUs for `key`, summed word by word (64 bits each).
    ///
    /// - Throws: `BPFError` with ENOENT when there is none.
    public borrowing func sum(of key: some BitwiseCopyable) throws(BPFError) -> [UInt64] {
        guard let bytes = try read(key, bytes: perCPUBytes * Self.cpus) else {
            throw BPFError(operation: "read", subject: subject, errno: ENOENT)
        }
        let words = bytes.words(of: UInt64.self)
        let width = perCPUBytes / 8
        return (0..<width).map { place in
            stride(from: place, to: words.count, by: width).reduce(0) { $0 &+ words[$1] }
        }
    }

    /// Sets the value of every CPU for `key` to zeros.
    public borrowing func clear(_ key: some BitwiseCopyable) throws(BPFError) {
        try write(key, [UInt8](repeating: 0, count: perCPUBytes * Self.cpus))
    }

    /// Replaces the value of `key`, or adds both. Not for per-CPU maps.
    public borrowing func set(
        _ key: some BitwiseCopyable, to bytes: [UInt8]
    ) throws(BPFError) {
        guard bytes.count == valueBytes else { throw wrongSize("value", bytes.count, valueBytes) }
        try write(key, bytes)
    }

    /// The same for a value of a fixed type; for an array of maps, a map's descriptor.
    public borrowing func set(
        _ key: some BitwiseCopyable, to value: some BitwiseCopyable
    ) throws(BPFError) {
        try set(key, to: [UInt8](native: value))
    }

    /// Removes the entry, if there is one.
    public borrowing func remove(_ key: some BitwiseCopyable) throws(BPFError) {
        try remove(bytes: [UInt8](native: key))
    }

    /// The same for a key as bytes.
    public borrowing func remove(bytes name: [UInt8]) throws(BPFError) {
        guard name.count == keyBytes else { throw wrongSize("key", name.count, keyBytes) }
        // SAFETY: the kernel reads as many bytes as the key has.
        let result = unsafe bpf_map_delete_elem(descriptor, name)
        guard result == 0 || result == -ENOENT else {
            throw BPFError(operation: "remove from", subject: subject, errno: -result)
        }
    }

    // MARK: Bytes

    /// The kernel rounds the value of each CPU up to whole words (kernel/bpf/syscall.c).
    var perCPUBytes: Int { (valueBytes + 7) / 8 * 8 }

    static let cpus = max(1, Int(libbpf_num_possible_cpus()))

    private borrowing func read(
        _ key: some BitwiseCopyable, bytes count: Int
    ) throws(BPFError) -> [UInt8]? {
        let name = try bytes(of: key)
        var value = [UInt8](repeating: 0, count: count)
        // SAFETY: the kernel reads a key and writes a value (of each CPU) of the sizes known.
        let result = unsafe bpf_map_lookup_elem(descriptor, name, &value)
        if result == -ENOENT { return nil }
        guard result == 0 else {
            throw BPFError(operation: "read", subject: subject, errno: -result)
        }
        return value
    }

    private borrowing func write(
        _ key: some BitwiseCopyable, _ value: [UInt8]
    ) throws(BPFError) {
        let name = try bytes(of: key)
        // SAFETY: both are of the sizes that the kernel reads.
        let result = unsafe bpf_map_update_elem(descriptor, name, value, UInt64(BPF_ANY))
        guard result == 0 else {
            throw BPFError(operation: "write", subject: subject, errno: -result)
        }
    }

    private borrowing func bytes(of key: some BitwiseCopyable) throws(BPFError) -> [UInt8] {
        let bytes = [UInt8](native: key)
        guard bytes.count == keyBytes else { throw wrongSize("key", bytes.count, keyBytes) }
        return bytes
    }

    private borrowing func wrongSize(_ what: String, _ given: Int, _ wanted: Int) -> BPFError {
        BPFError(
            operation: "use", subject: subject, errno: EINVAL,
            remedy: "a \(what) has \(wanted) bytes, not \(given)")
    }
}

/// Many entries in one system call (BPF_MAP_UPDATE_BATCH, Linux 5.6).
extension BPFMap {
    /// Sets values of keys, in their order; not for per-CPU maps.
    ///
    /// For arrays of maps the kernel waits for running programs: with a batch once (since Linux 6.8), with single
    /// calls each time (kernel/bpf/syscall.c, maybe_wait_bpf_programs). They take batches from Linux 5.19 on; before
    /// that the entries are set one by one.
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

    /// Sets the values of every CPU for these keys to zeros.
    package borrowing func clear<Key: BitwiseCopyable>(_ keys: [Key]) throws(BPFError) {
        guard keys.count > 1 else {
            for key in keys { try clear(key) }
            return
        }
        try fits(MemoryLayout<Key>.size, 0, isWholeValue: false)
        // In parts: with many CPUs each value is long.
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
        // ENOTSUPP of the kernel, which is not an errno of user space.
        if result == -EOPNOTSUPP || result == -524 { return false }
        guard result == 0 else {
            throw BPFError(operation: "write", subject: subject, errno: -result)
        }
        return true
    }
}

extension Array {
    /// Chunks of the elements in order.
    fileprivate func parts(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}

// Maps of another object, or another process, are found by their pins. Opening them by their IDs, or by the program's,
// needs CAP_SYS_ADMIN (kernel/bpf/syscall.c, bpf_map_get_fd_by_id).

extension BPFMap {
    /// A map that this process or another has pinned.
    ///
    /// - Parameter name: the map's name, to distinguish it from other objects.
    /// - Returns: nil when there is no pin.
    /// - Throws: `BPFError` when it cannot be opened, with EINVAL when it is another object.
    package static func pinned(at path: String, named name: String) throws(BPFError) -> BPFMap? {
        // SAFETY: the path is read before the call returns.
        let found = unsafe bpf_obj_get(path)
        if found == -ENOENT { return nil }
        guard found >= 0 else {
            throw BPFError(operation: "open", subject: path, errno: -found)
        }
        guard kernelInfo(of: found, bpf_map_info()).map({ String(array: $0.name) }) == name else {
            _ = close(found)
            throw BPFError(
                operation: "open", subject: path, errno: EINVAL, reason: "it is no map \(name)")
        }
        return try BPFMap(owning: found, subject: path)
    }

    /// Pins the map, so that it outlives this process, and replaces another pin in one step.
    package borrowing func pin(at path: String) throws(BPFError) {
        let beside = path + "-next"
        // SAFETY: the paths are read before the calls return.
        _ = unsafe unlink(beside)
        let result = unsafe bpf_obj_pin(descriptor, beside)
        guard result == 0 else {
            throw BPFError(operation: "pin", subject: path, errno: -result)
        }
        guard unsafe rename(beside, path) == 0 else {
            let code = Glibc.errno
            _ = unsafe unlink(beside)
            throw BPFError(operation: "pin", subject: path, errno: code)
        }
    }

    /// The kernel's ID of the map.
    package var number: UInt32 { kernelInfo(of: descriptor, bpf_map_info())?.id ?? 0 }
}

extension BPFObject {
    /// Makes the object use an existing map, before `load`.
    ///
    /// - Throws: `BPFError` with EINVAL when the sizes differ.
    package mutating func share(_ map: String, _ existing: borrowing BPFMap) throws(BPFError) {
        // SAFETY: the map lives as long as the object.
        guard let found = unsafe bpf_object__find_map_by_name(handle, map) else {
            throw BPFError(operation: "find map", subject: "\(name)/\(map)", errno: ENOENT)
        }
        let sizes = unsafe (
            Int(bpf_map__key_size(found)), Int(bpf_map__value_size(found)),
            Int(bpf_map__max_entries(found))
        )
        guard sizes == (existing.keyBytes, existing.valueBytes, existing.entries) else {
            throw BPFError(
                operation: "share map", subject: "\(name)/\(map)", errno: EINVAL,
                reason:
                    "it has \(sizes.2) entries of \(sizes.0) and \(sizes.1) bytes, the one there "
                    + "\(existing.entries) of \(existing.keyBytes) and \(existing.valueBytes)")
        }
        // SAFETY: libbpf takes a descriptor of its own.
        let result = unsafe bpf_map__reuse_fd(found, existing.descriptor)
        guard result == 0 else {
            throw BPFError(operation: "share map", subject: "\(name)/\(map)", errno: -result)
        }
    }

    /// Whether the object has a map of that name.
    package func hasMap(named map: String) -> Bool {
        unsafe bpf_object__find_map_by_name(handle, map) != nil
    }
}
