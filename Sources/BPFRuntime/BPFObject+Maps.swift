// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// The maps of an object: sized before `load`, used after it.
extension BPFObject {
    /// How many entries a map has room for, before `load`.
    ///
    /// - Throws: `BPFError` with ENOENT and the names there are, EBUSY after `load`.
    public mutating func size(_ map: String, entries: Int) throws(BPFError) {
        let found = try unsafe find(map)
        // SAFETY: maps live as long as the object.
        let result = unsafe bpf_map__set_max_entries(found, UInt32(entries))
        if result < 0 { throw refused("size map", map, result) }
    }

    /// How long the values of the maps in an array of maps are, before `load`.
    ///
    /// - Throws: `BPFError` as `size`, with EINVAL for a map that holds no maps.
    public mutating func size(mapsIn map: String, valueBytes: Int) throws(BPFError) {
        // SAFETY: the template lives as long as the object.
        guard let template = unsafe bpf_map__inner_map(try find(map)) else {
            throw BPFError(
                operation: "size map", subject: "\(name)/\(map)", errno: EINVAL,
                remedy: "it is no array of maps")
        }
        let result = unsafe bpf_map__set_value_size(template, UInt32(valueBytes))
        if result < 0 { throw refused("size map", map, result) }
    }

    /// A loaded map.
    ///
    /// - Throws: `BPFError` with ENOENT and the names there are, EINVAL before `load`.
    public func map(named wanted: String) throws(BPFError) -> BPFMap {
        // SAFETY: only its descriptor leaves here.
        let descriptor = unsafe bpf_map__fd(try find(wanted))
        guard descriptor >= 0 else { throw refused("find map", wanted, -EINVAL) }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw refused("duplicate", wanted, -Glibc.errno) }
        return try BPFMap(owning: copy, subject: "\(name)/\(wanted)")
    }

    /// The names of its maps, in the order of the object.
    public var mapNames: [String] {
        var names: [String] = []
        // SAFETY: maps and their names live as long as the object.
        var map = unsafe bpf_object__next_map(handle, nil)
        while let current = unsafe map {
            unsafe names.append(String(cString: bpf_map__name(current)))
            unsafe map = bpf_object__next_map(handle, current)
        }
        return names
    }

    private func find(_ map: String) throws(BPFError) -> OpaquePointer {
        // SAFETY: the map lives as long as the object.
        guard let found = unsafe bpf_object__find_map_by_name(handle, map) else {
            throw BPFError(
                operation: "find map", subject: "\(name)/\(map)", errno: ENOENT,
                remedy: "the object has \(mapNames.joined(separator: ", "))")
        }
        return unsafe found
    }

    private func refused(_ operation: String, _ map: String, _ result: Int32) -> BPFError {
        BPFError(operation: operation, subject: "\(name)/\(map)", errno: -result)
    }
}
