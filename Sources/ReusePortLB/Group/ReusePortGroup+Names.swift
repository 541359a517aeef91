// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension ReusePortGroup {
    /// A folder below a pin root that holds a group, or may hold one.
    public struct Pinned: Hashable, Sendable {
        public let name: String
        /// False when the caller may not look into the folder, so that nobody can tell.
        public let isReadable: Bool
    }

    /// The groups below a pin root by name: every folder with the maps of a group in it, and every folder
    /// that the caller may not look into.
    ///
    /// - Parameter pinRoot: nil for ``defaultPinRoot``.
    /// - Throws: `.noBPFFileSystem` when there is no such folder, `.accessDenied` when it cannot be read.
    public static func pinned(below pinRoot: String? = nil) throws(ReusePortError) -> [Pinned] {
        let root = pinRoot ?? defaultPinRoot
        var found: [Pinned] = []
        for name in try entries(of: root) {
            let folder = "\(root)/\(name)"
            var facts = stat()
            guard unsafe stat(folder, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR else {
                continue
            }
            // The map that every version of the library pins.
            if unsafe stat("\(folder)/udp_balancing_targets", &facts) == 0 {
                found.append(Pinned(name: name, isReadable: true))
            } else if Glibc.errno == EACCES {
                found.append(Pinned(name: name, isReadable: false))
            }
        }
        return found.sorted { $0.name < $1.name }
    }

    private static func entries(of root: String) throws(ReusePortError) -> [String] {
        guard let folder = unsafe opendir(root) else {
            // Without the folder there is no file system on it either.
            let code = [ENOENT, ENOTDIR].contains(Glibc.errno) ? ENODEV : Glibc.errno
            let remedy =
                code == EACCES
                ? "this user may not list it" : PinRoot(root).remedy(errno: code)
            throw ReusePortError("list the groups below", root, errno: code, remedy: remedy)
        }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        // SAFETY: the entry is the folder's until the next readdir, and its name NUL-terminated.
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                unsafe tuple.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
