// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

// Maps that another object, or another process, has made: found by the program that uses them, so that they
// need no pins of their own. A program keeps its maps, and a pinned link its program.

extension BPFMap {
    /// A map of a program, by its name.
    ///
    /// - Parameters:
    ///   - name: at most 15 characters.
    ///   - number: the kernel's number of the program, as `bpftool prog show` prints it.
    /// - Throws: `BPFError` with ENOENT when there is no such program or it has no such map.
    package init(named name: String, ofProgram number: UInt32) throws(BPFError) {
        let subject = "\(name) of program \(number)"
        for map in try Self.maps(ofProgram: number) {
            let descriptor = bpf_map_get_fd_by_id(map)
            guard descriptor >= 0 else { continue }
            if Self.name(of: descriptor) == name {
                try self.init(owning: descriptor, subject: subject)
                return
            }
            _ = close(descriptor)
        }
        throw BPFError(operation: "find map", subject: subject, errno: ENOENT)
    }

    /// The kernel's number of the map.
    package var number: UInt32 {
        var info = bpf_map_info()
        var size = UInt32(MemoryLayout<bpf_map_info>.size)
        // SAFETY: the kernel writes at most `size` bytes.
        guard unsafe bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 else { return 0 }
        return info.id
    }

    private static func maps(ofProgram number: UInt32) throws(BPFError) -> [UInt32] {
        let program = bpf_prog_get_fd_by_id(number)
        guard program >= 0 else {
            throw BPFError(operation: "open", subject: "program \(number)", errno: -program)
        }
        defer { _ = close(program) }
        var numbers = [UInt32](repeating: 0, count: 64)
        var info = bpf_prog_info()
        var size = UInt32(MemoryLayout<bpf_prog_info>.size)
        info.nr_map_ids = UInt32(numbers.count)
        // SAFETY: the kernel writes at most `nr_map_ids` numbers, and `size` bytes of the structure.
        let result = unsafe numbers.withUnsafeMutableBufferPointer { room in
            info.map_ids = UInt64(UInt(bitPattern: room.baseAddress))
            return unsafe bpf_obj_get_info_by_fd(program, &info, &size)
        }
        guard result == 0 else {
            throw BPFError(operation: "look at", subject: "program \(number)", errno: -result)
        }
        return Array(numbers.prefix(Int(info.nr_map_ids)))
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
