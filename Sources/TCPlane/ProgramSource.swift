// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import Glibc
internal import KernelPrograms

/// Where the kernel program comes from.
public enum ProgramSource: Sendable {
    /// The one that the build put in.
    case embedded
    /// The one in a file, checked for the layouts of this build; read whenever a program is loaded.
    case file(String)

    /// The object, opened and found to be of our kind.
    ///
    /// - Throws: `BPFError` when it is no BPF object, lacks something or has another ABI.
    func open() throws(BPFError) -> BPFObject {
        switch self {
        case .embedded: return try BPFObject(opening: .tcFanout)
        case .file(let path):
            let object = try BPFObject(opening: try ObjectFile.bytes(at: path), name: path)
            try Self.check(object)
            return object
        }
    }

    private static func check(_ object: borrowing BPFObject) throws(BPFError) {
        let ours = BPFRuntimeInfo.abiVersion
        guard object.programNames.contains(TCProgram.name) else {
            throw BPFError(
                operation: "open", subject: object.name, errno: EINVAL,
                reason: "it has no program \(TCProgram.name)",
                remedy: "give an object made from bpf/tc_fanout.bpf.c of this version")
        }
        let its = object.value(of: "lb_abi", as: UInt32.self).map { Int($0) }
        guard its == ours else {
            throw BPFError(
                operation: "open", subject: object.name, errno: EINVAL,
                reason: "its ABI is \(its.map { "\($0)" } ?? "unknown"), this daemon's \(ours)",
                remedy: "give an object made from bpf/tc_fanout.bpf.c of this version")
        }
    }
}
