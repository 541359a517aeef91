// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc
public import KernelPrograms

/// An ELF object with kernel programs: opened, given its constants, loaded. It owns what libbpf
/// allocates for it; what it loaded stays in the kernel for as long as somebody refers to it.
///
/// libbpf writes nothing to standard error: what it has to say is in the errors thrown.
@safe
public struct BPFObject: ~Copyable {
    /// What errors call it.
    public let name: String
    /// Not null until deinit.
    let handle: OpaquePointer
    /// Where libbpf puts the verifier's log. Untouched pages of it cost nothing.
    private let log: UnsafeMutableBufferPointer<CChar>

    /// Opens one of the objects that the build put in.
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
    /// - Throws: `BPFError` when the bytes are no BPF object.
    public init(opening bytes: [UInt8], name: String) throws(BPFError) {
        _ = Self.quiet
        // Kernels before 6.4 report ENOSPC in place of the verdict when the log does not fit.
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

    /// Creates the maps, and has the kernel verify and keep every program. Once; constants are set
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
    /// - Throws: `BPFError` with ENOENT and the names there are, or with EINVAL before `load`.
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

    /// libbpf prints to standard error unless it has another function to call, or none.
    private static let quiet: Void = {
        // SAFETY: a static is set up once, before any other call of libbpf in this process.
        _ = unsafe libbpf_set_print(nil)
    }()
}
