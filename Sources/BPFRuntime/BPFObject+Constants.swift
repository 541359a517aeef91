// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// Constants: the `const volatile` globals of a program, which the verifier takes for literals and
/// whose dead branches it removes.
extension BPFObject {
    /// Gives a constant its value, before `load`.
    ///
    /// - Parameters:
    ///   - constant: the name of the global in the source.
    ///   - value: of exactly the size of the global.
    /// - Throws: `BPFError` with ENOENT and the names there are, EINVAL for a value of another size or
    ///   after `load`.
    public mutating func set(
        _ constant: String, to value: some FixedWidthInteger & BitwiseCopyable
    ) throws(BPFError) {
        let variables = constants
        guard let place = variables.first(where: { $0.name == constant }) else {
            let names = variables.map(\.name).joined(separator: ", ")
            throw failure(constant, ENOENT, remedy: "the object has \(names)")
        }
        // SAFETY: the bytes of an integer, copied before the call returns.
        let bytes = unsafe withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
        guard bytes.count == place.size else {
            throw failure(
                constant, EINVAL, remedy: "it takes \(place.size) bytes, not \(bytes.count)")
        }
        var size = 0
        // SAFETY: libbpf owns the initial value, `size` bytes of it, as long as the object; it is
        // copied at once, and set_initial_value copies it back.
        guard let map = unsafe bpf_object__find_map_by_name(handle, Self.section),
            let start = unsafe bpf_map__initial_value(map, &size),
            place.offset + place.size <= size
        else { throw failure(constant, ENOENT, remedy: "the object has no initial value for it") }
        var section = unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: size))
        section.replaceSubrange(place.offset..<place.offset + place.size, with: bytes)
        let result = unsafe bpf_map__set_initial_value(map, section, size)
        if result < 0 { throw failure(constant, -result, remedy: "set constants before load") }
    }

    /// What the object says that a constant is; nil when it has none of that name and size.
    public func value<Value: FixedWidthInteger & BitwiseCopyable>(
        of constant: String, as type: Value.Type
    ) -> Value? {
        var size = 0
        // SAFETY: libbpf owns the initial value, `size` bytes of it, and it is copied at once.
        guard let place = constants.first(where: { $0.name == constant }),
            place.size == MemoryLayout<Value>.size,
            let map = unsafe bpf_object__find_map_by_name(handle, Self.section),
            let start = unsafe bpf_map__initial_value(map, &size),
            place.offset + place.size <= size
        else { return nil }
        let section = unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: size))
        return [UInt8](section[place.offset..<place.offset + place.size]).words(of: type).first
    }

    /// The names of the constants, in the order in which they lie in memory.
    public var constantNames: [String] { constants.map(\.name) }

    private static var section: String { ".rodata" }

    /// Where one constant lies in its section, in bytes.
    private struct Place {
        let name: String
        let offset: Int
        let size: Int
    }

    /// Read from the type information (BTF): Documentation/bpf/btf.rst, "BTF_KIND_DATASEC".
    private var constants: [Place] {
        // SAFETY: the types live as long as the object; a section's type is followed by as many
        // entries as the low 16 bits of its info say.
        guard let types = unsafe bpf_object__btf(handle) else { return [] }
        let id = unsafe btf__find_by_name_kind(types, Self.section, UInt32(CLIBBPF_KIND_DATASEC))
        guard id > 0, let section = unsafe btf__type_by_id(types, UInt32(id)),
            let first = unsafe btf_var_secinfos(section)
        else { return [] }
        let count = unsafe Int(section.pointee.info & 0xffff)
        return unsafe UnsafeBufferPointer(start: first, count: count).compactMap {
            (entry: btf_var_secinfo) -> Place? in
            guard let variable = unsafe btf__type_by_id(types, entry.type),
                let name = unsafe btf__name_by_offset(types, variable.pointee.name_off)
            else { return nil }
            return unsafe Place(
                name: String(cString: name), offset: Int(entry.offset), size: Int(entry.size))
        }
    }

    private func failure(_ constant: String, _ code: Int32, remedy: String) -> BPFError {
        BPFError(
            operation: "set constant", subject: "\(name)/\(constant)", errno: code, remedy: remedy)
    }
}
