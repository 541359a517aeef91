// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

// Maps that another object, or another process, has made: found by their pins. To open them by their numbers,
// or by that of a program that has them, takes CAP_SYS_ADMIN (kernel/bpf/syscall.c, bpf_map_get_fd_by_id).

extension BPFMap {
    /// A map that was pinned, by this process or another.
    ///
    /// - Parameter name: what the map is called, to know it from other objects.
    /// - Returns: nil when nothing is there.
    /// - Throws: `BPFError` when it cannot be opened, with EINVAL when something else is there.
    package static func pinned(at path: String, named name: String) throws(BPFError) -> BPFMap? {
        // SAFETY: the path is read before the call returns.
        let found = unsafe bpf_obj_get(path)
        if found == -ENOENT { return nil }
        guard found >= 0 else {
            throw BPFError(operation: "open", subject: path, errno: -found)
        }
        guard Self.name(of: found) == name else {
            _ = close(found)
            throw BPFError(
                operation: "open", subject: path, errno: EINVAL, reason: "it is no map \(name)")
        }
        return try BPFMap(owning: found, subject: path)
    }

    /// Has the map outlive this process, in place of what is pinned there: in one step.
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

    /// The kernel's number of the map.
    package var number: UInt32 {
        var info = bpf_map_info()
        var size = UInt32(MemoryLayout<bpf_map_info>.size)
        // SAFETY: the kernel writes at most `size` bytes.
        guard unsafe bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 else { return 0 }
        return info.id
    }

    private static func name(of descriptor: Int32) -> String {
        var info = bpf_map_info()
        var size = UInt32(MemoryLayout<bpf_map_info>.size)
        // SAFETY: the kernel writes at most `size` bytes, and the name with its NUL.
        guard unsafe bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 else { return "" }
        return unsafe withUnsafeBytes(of: &info.name) { name in
            unsafe String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}

extension BPFObject {
    /// Has the object use a map that is there already, before `load`.
    ///
    /// - Throws: `BPFError` with EINVAL when that is of other sizes.
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
