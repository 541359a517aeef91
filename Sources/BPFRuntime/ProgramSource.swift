// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import KernelPrograms

/// Where a kernel program comes from.
public enum ProgramSource: Sendable {
    /// The one that the build put in.
    case embedded
    /// The one in a file, checked for the layouts of this build; read whenever a program is loaded.
    case file(String)

    /// The object, opened and found to be of our kind.
    ///
    /// - Parameters:
    ///   - embedded: the one of the build; an object from a file has to be made from the same source.
    ///   - program: one that it has.
    /// - Throws: `BPFError` when it is no BPF object, lacks something or has another ABI.
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
