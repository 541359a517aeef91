// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Glibc
internal import LinuxNet

/// libreuseportlb-preload.so, which puts the sockets of another program into slots (preload.c).
enum Preload {
    static let name = "libreuseportlb-preload.so"

    /// The file: beside this executable, or where the dynamic linker finds it.
    static func find() throws(ExecError) -> String {
        let beside = ThisProcess.executable.split(separator: "/").dropLast().joined(separator: "/")
        let path = "/\(beside)/\(name)"
        if unsafe access(path, R_OK) == 0 { return path }
        // SAFETY: the object has no constructor, and its functions call those of the C library.
        if let object = unsafe dlopen(name, RTLD_LAZY | RTLD_LOCAL) {
            unsafe dlclose(object)
            return name
        }
        throw ExecError(
            "find \(name)",
            "it is neither beside \(ThisProcess.executable) nor in a folder of the dynamic linker; make build "
                + "makes it, and the package reuseportlb-tools has it")
    }

    /// The variables by which a program loads it.
    ///
    /// - Parameter adopt: the arguments of `collector` that put an inherited socket into the slot.
    static func environment(
        _ file: String, listen: Endpoint, adopt: [String]
    ) -> [(name: String, value: String)] {
        let others = Environment["LD_PRELOAD"].map { ":\($0)" } ?? ""
        return [
            ("LD_PRELOAD", file + others),
            ("RPLB_EXEC_LISTEN", "\(listen.address) \(listen.port)"),
            ("RPLB_EXEC_ADOPT", ([ThisProcess.executable] + adopt).joined(separator: "\n")),
        ]
    }
}
