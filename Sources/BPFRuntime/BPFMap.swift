// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A map in the kernel. It owns a descriptor of its own, so it may outlive the object that it came from.
///
/// Keys and values are trivial values or bytes of exactly the map's sizes; another size is EINVAL.
public struct BPFMap: ~Copyable, Sendable {
    /// What errors call it, such as `tc_fanout/listeners`.
    public let subject: String
    /// Open until deinit; for calls that put the map into another one.
    public let descriptor: Int32
    /// Bytes of a key and of a value (of one CPU's value in a per-CPU map), and how many fit in.
    public let keyBytes: Int
    public let valueBytes: Int
    public let entries: Int

    /// - Parameter owned: an open descriptor, which the map closes.
    /// - Throws: `BPFError` when it is no map's; it is closed then.
    init(owning owned: Int32, subject: String) throws(BPFError) {
        let info = try Self.look(at: owned, subject)
        self.subject = subject
        descriptor = owned
        keyBytes = Int(info.key_size)
        valueBytes = Int(info.value_size)
        entries = Int(info.max_entries)
    }

    private static func look(
        at descriptor: Int32, _ subject: String
    ) throws(BPFError) -> bpf_map_info {
        var info = bpf_map_info()
        var size = UInt32(MemoryLayout<bpf_map_info>.size)
        // SAFETY: the kernel writes at most `size` bytes.
        guard unsafe bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 else {
            let code = Glibc.errno
            _ = close(descriptor)
            throw BPFError(operation: "look at map", subject: subject, errno: code)
        }
        return info
    }

    /// A new array of one element, to be put into an array of maps.
    ///
    /// - Parameters:
    ///   - name: what bpftool shows; at most 15 characters.
    ///   - valueBytes: as the other map's template says.
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

    /// The value behind `key`; nil when there is none. Not for per-CPU maps.
    public borrowing func value(of key: some BitwiseCopyable) throws(BPFError) -> [UInt8]? {
        try read(key, bytes: valueBytes)
    }

    /// The values of all CPUs behind `key`, added up word by word (64 bits each).
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

    /// Sets the value of every CPU behind `key` to zeros.
    public borrowing func clear(_ key: some BitwiseCopyable) throws(BPFError) {
        try write(key, [UInt8](repeating: 0, count: perCPUBytes * Self.cpus))
    }

    /// Puts a value in place of the one behind `key`, or adds both. Not for per-CPU maps.
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

    /// Takes the entry out, if it is there.
    public borrowing func remove(_ key: some BitwiseCopyable) throws(BPFError) {
        try remove(bytes: [UInt8](native: key))
    }

    /// The same for a key that is given as bytes.
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
