// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension PinFolder {
    /// Removes folders that dead processes left, with what is pinned in them: those of which `isStale`
    /// says so by their names, unless a process holds them.
    ///
    /// - Parameter root: the BPF file system.
    public static func removeStale(root: String = usualRoot, where isStale: (String) -> Bool) {
        let all = "\(root)/udp-fanout"
        for name in entries(of: all) where isStale(name) {
            let path = "\(all)/\(name)"
            guard let descriptor = try? holding(path) else { continue }
            defer { _ = close(descriptor) }
            // Pins are files, marks are folders.
            for entry in entries(of: path) {
                let place = "\(path)/\(entry)"
                if unsafe unlink(place) != 0 { _ = unsafe rmdir(place) }
            }
            _ = unsafe rmdir(path)
        }
    }

    /// Removes the marks whose names begin like this, but for one.
    public func removeMarks(startingWith prefix: String, but kept: String? = nil) {
        for name in Self.entries(of: path) where name.hasPrefix(prefix) && name != kept {
            setMark(name, false)
        }
    }

    /// Whether there is a folder of that name, whoever holds it.
    public static func exists(root: String = usualRoot, name: String) -> Bool {
        unsafe access("\(root)/udp-fanout/\(name)", F_OK) == 0
    }

    /// The names in a folder; none when it cannot be read.
    private static func entries(of path: String) -> [String] {
        guard let folder = unsafe opendir(path) else { return [] }
        defer { unsafe _ = closedir(folder) }
        var names: [String] = []
        // SAFETY: the folder is open, and an entry is read before the next one is asked for; the
        // kernel ends its name with a NUL.
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
