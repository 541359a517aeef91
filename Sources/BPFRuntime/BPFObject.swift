// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc
public import KernelPrograms

/// An ELF object with kernel programs: opened, given its constants, loaded. It owns libbpf's memory for it; loaded
/// programs and maps stay in the kernel while they are referenced.
///
/// libbpf writes nothing to standard error: its messages are in the errors thrown.
@safe
public struct BPFObject: ~Copyable {
    /// Its name in errors.
    public let name: String
    /// Not null until deinit.
    let handle: OpaquePointer
    /// The buffer for the verifier's log. Untouched pages of it cost nothing.
    private let log: UnsafeMutableBufferPointer<CChar>

    /// Opens one of the embedded objects.
    ///
    /// - Throws: `BPFError` as `init(opening:name:)`.
    public init(opening embedded: EmbeddedObject) throws(BPFError) {
        guard let bytes = embedded.bytes else {
            throw BPFError(
                operation: "open", subject: embedded.name.description, errno: EINVAL,
                reason: "the embedded object is damaged", remedy: "build again")
        }
        try self.init(opening: bytes, name: embedded.name.description)
    }

    /// Opens an object from the bytes of its ELF file, without the kernel: needs no privilege.
    ///
    /// - Throws: `BPFError` when the bytes are not a BPF object.
    public init(opening bytes: [UInt8], name: String) throws(BPFError) {
        _ = Self.quiet
        // Kernels before 6.4 return ENOSPC instead of the verdict when the log does not fit.
        let log = UnsafeMutableBufferPointer<CChar>.allocate(capacity: 1 << 20)
        unsafe log[0] = 0
        var options = unsafe bpf_object_open_opts()
        unsafe options.sz = MemoryLayout<bpf_object_open_opts>.size
        unsafe options.kernel_log_buf = log.baseAddress
        unsafe options.kernel_log_size = log.count
        // SAFETY: libbpf copies the bytes and the options before it returns; the log, which it goes on
        // using, lives until deinit has closed the object.
        let opened = unsafe bytes.withUnsafeBytes { raw in
            unsafe bpf_object__open_mem(raw.baseAddress, raw.count, &options)
        }
        guard let opened = unsafe opened else {
            let code = Glibc.errno
            unsafe log.deallocate()
            throw BPFError(operation: "open", subject: name, errno: code)
        }
        self.name = name
        unsafe handle = opened
        unsafe self.log = log
    }

    deinit {
        // SAFETY: both come from init, and nothing else frees them.
        unsafe bpf_object__close(handle)
        unsafe log.deallocate()
    }

    /// Creates the maps, and makes the kernel verify and load every program. Must be called once; constants are set
    /// before.
    ///
    /// - Throws: `BPFError` with EPERM without the capabilities, with the end of the verifier's log
    ///   when a program is rejected.
    public mutating func load() throws(BPFError) {
        // SAFETY: the handle is open; libbpf writes the log within the size given at open.
        let result = unsafe bpf_object__load(handle)
        guard result < 0 else { return }
        let bytes = unsafe log.lazy.map { UInt8(bitPattern: $0) }
        throw BPFError(
            operation: "load", subject: name, errno: -result,
            log: unsafe BPFError.lastLines(of: bytes),
            wholeLog: unsafe BPFError.lines(of: bytes))
    }

    /// The names of its programs, in the order of the source.
    public var programNames: [String] {
        var names: [String] = []
        // SAFETY: programs and their names live as long as the object.
        var program = unsafe bpf_object__next_program(handle, nil)
        while let current = unsafe program {
            unsafe names.append(String(cString: bpf_program__name(current)))
            unsafe program = bpf_object__next_program(handle, current)
        }
        return names
    }

    /// A loaded program, by the name of its function.
    ///
    /// - Throws: `BPFError` with ENOENT and the existing names, or with EINVAL before `load`.
    public func program(named wanted: String) throws(BPFError) -> BPFProgram {
        let subject = "\(name)/\(wanted)"
        // SAFETY: the program lives as long as the object, and only its descriptor leaves here.
        guard let program = unsafe bpf_object__find_program_by_name(handle, wanted) else {
            throw BPFError(
                operation: "find program", subject: subject, errno: ENOENT,
                remedy: "the object has \(programNames.joined(separator: ", "))")
        }
        let descriptor = unsafe bpf_program__fd(program)
        guard descriptor >= 0 else {
            throw BPFError(
                operation: "find program", subject: subject, errno: EINVAL,
                reason: "the object is not loaded", remedy: "load it first")
        }
        return try BPFProgram(duplicating: descriptor, subject: subject)
    }

    /// libbpf prints to standard error unless it has another print function, or none.
    private static let quiet: Void = {
        // SAFETY: a static is set up once, before any other call of libbpf in this process.
        _ = unsafe libbpf_set_print(nil)
    }()
}

/// Constants: the `const volatile` globals of a program, which the verifier treats as literals and whose dead branches
/// it removes.
extension BPFObject {
    /// Sets a constant, before `load`.
    ///
    /// - Parameters:
    ///   - constant: the name of the global in the source.
    ///   - value: of exactly the size of the global.
    /// - Throws: `BPFError` with ENOENT and the existing names, EINVAL for a value of another size or after `load`.
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

    /// The object's value of a constant; nil when it has none of that name and size.
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

    /// The names of the constants, in the order of their memory.
    public var constantNames: [String] { constants.map(\.name) }

    private static var section: String { ".rodata" }

    /// The position of one constant in its section, in bytes.
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

/// The maps of an object: sized before `load`, used after it.
extension BPFObject {
    /// Sets the capacity of a map, before `load`.
    ///
    /// - Throws: `BPFError` with ENOENT and the existing names, EBUSY after `load`.
    public mutating func size(_ map: String, entries: Int) throws(BPFError) {
        let found = try unsafe find(map)
        // SAFETY: maps live as long as the object.
        let result = unsafe bpf_map__set_max_entries(found, UInt32(entries))
        if result < 0 { throw refused("size map", map, result) }
    }

    /// Sets the value size of the maps in an array of maps, before `load`.
    ///
    /// - Throws: `BPFError` as `size`, with EINVAL for a map that is not an array of maps.
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
    /// - Throws: `BPFError` with ENOENT and the existing names, EINVAL before `load`.
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
