// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CLibBPF
internal import Glibc
package import KernelPrograms

/// The source of a kernel program.
public enum ProgramSource: Sendable {
    /// The embedded one.
    case embedded
    /// A file, checked for the layouts of this build; read whenever a program is loaded.
    case file(String)

    /// Opens and checks the object.
    ///
    /// - Parameters:
    ///   - embedded: the object of the build; an object from a file must be compiled from the same source.
    ///   - program: the name of one of its programs.
    /// - Throws: `BPFError` when it is not a BPF object, lacks a part or has another ABI.
    package func open(
        _ embedded: EmbeddedObject, with program: String
    ) throws(BPFError) -> BPFObject {
        switch self {
        case .embedded: return try BPFObject(opening: embedded)
        case .file(let path):
            let object = try BPFObject(opening: try ObjectFile.bytes(at: path), name: path)
            try Self.check(object, program, "bpf/\(embedded.name).bpf.c")
            return object
        }
    }

    private static func check(
        _ object: borrowing BPFObject, _ program: String, _ origin: String
    ) throws(BPFError) {
        let ours = BPFRuntimeInfo.abiVersion
        guard object.programNames.contains(program) else {
            throw BPFError(
                operation: "open", subject: object.name, errno: EINVAL,
                reason: "it has no program \(program)",
                remedy: "give an object made from \(origin) of this version")
        }
        let its = object.value(of: "lb_abi", as: UInt32.self).map { Int($0) }
        guard its == ours else {
            throw BPFError(
                operation: "open", subject: object.name, errno: EINVAL,
                reason: "its ABI is \(its.map { "\($0)" } ?? "unknown"), this daemon's \(ours)",
                remedy: "give an object made from \(origin) of this version")
        }
    }
}

/// Kernel programs from a file.
public enum ObjectFile {
    /// More than any object of bpf/.
    public static let maximumBytes = 16 << 20

    /// The bytes of the file.
    ///
    /// - Throws: `BPFError` when it cannot be read or is longer than `maximumBytes`.
    public static func bytes(at path: String) throws(BPFError) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(path, Glibc.errno) }
        defer { _ = close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            // SAFETY: the kernel writes within the piece.
            let count = unsafe read(file, &piece, piece.count)
            if count < 0 { throw failure(path, Glibc.errno) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            if bytes.count > maximumBytes { throw failure(path, EFBIG) }
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> BPFError {
        BPFError(
            operation: "read", subject: path, errno: code,
            remedy: "name a file that can be read, such as one made from bpf/tc_fanout.bpf.c")
    }
}

/// Versions of the kernel side for `--version`.
public enum BPFRuntimeInfo {
    /// The version of the linked libbpf, such as `v1.1`.
    public static var libbpfVersion: String {
        // SAFETY: libbpf returns a constant string.
        unsafe String(cString: libbpf_version_string())
    }

    /// The running kernel, as `uname -r` prints it.
    public static var kernelRelease: String {
        var names = utsname()
        // SAFETY: the kernel fills in the structure, each text with its NUL.
        guard unsafe uname(&names) == 0 else { return "unknown" }
        return String(array: names.release)
    }

    /// The version of the layouts, hashes and meanings that kernel programs and daemon share
    /// (`LB_ABI_VERSION`); two builds of one version give every flow the same receiver.
    public static let abiVersion = Int(LB_ABI_VERSION)
}
