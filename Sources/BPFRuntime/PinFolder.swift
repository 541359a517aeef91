// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// A folder in the BPF file system: a place for pins, and a lock that a process holds as long as it lives. Its path is
/// `ROOT/udp-fanout/NAME`.
public struct PinFolder: ~Copyable, Sendable {
    public let path: String
    private let descriptor: Int32

    /// The mount point of the BPF file system on most hosts.
    public static let usualRoot = "/sys/fs/bpf"

    /// Opens and locks the folder; creates it if necessary.
    ///
    /// - Parameters:
    ///   - root: the BPF file system; one is mounted there when none is.
    ///   - name: without dots, which the kernel reserves (kernel/bpf/inode.c, bpf_lookup).
    /// - Throws: `BPFError`; with EBUSY when another process holds it.
    public init(root: String = usualRoot, name: String) throws(BPFError) {
        let path = "\(root)/udp-fanout/\(name)"
        let locked = try Self.lock(path, root: root)
        self.path = path
        descriptor = locked
    }

    private static func lock(_ path: String, root: String) throws(BPFError) -> Int32 {
        try mount(at: root)
        // A starting process searches the folders of others for leftovers of killed ones, and locks or removes one for
        // a moment; a daemon keeps its own locked for longer.
        for _ in 0..<attempts {
            if let descriptor = try take(path, root: root) { return descriptor }
            _ = usleep(pause)
        }
        throw BPFError(
            operation: "lock", subject: path, errno: EBUSY, reason: "another process holds it",
            remedy: "stop the other udp-fanout on this interface, or name both in one file")
    }

    private static let attempts = 50
    /// Microseconds.
    private static let pause: UInt32 = 10_000

    /// The folder's descriptor with the lock; nil when another process holds it or has removed it.
    private static func take(_ path: String, root: String) throws(BPFError) -> Int32? {
        for folder in ["\(root)/udp-fanout", path]
        where unsafe mkdir(folder, 0o700) != 0 && Glibc.errno != EEXIST {
            let code = Glibc.errno
            if code == ENOENT { return nil }
            throw BPFError(
                operation: "make folder", subject: folder, errno: code,
                remedy: code == EROFS ? "it is read-only: mount -o remount,rw \(root)" : nil)
        }
        return try holding(path)
    }

    /// A folder's descriptor with the lock; nil when there is none, or another process holds it.
    ///
    /// - Parameter path: `ROOT/udp-fanout/NAME`. Neither of the two folders may be a link, or another user's.
    static func holding(_ path: String) throws(BPFError) -> Int32? {
        let above = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        guard let parent = try openOwn(above) else { return nil }
        _ = close(parent)
        guard let descriptor = try openOwn(path) else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = Glibc.errno
            _ = close(descriptor)
            if code == EWOULDBLOCK { return nil }
            throw BPFError(operation: "lock", subject: path, errno: code)
        }
        // A lock on a folder that was removed meanwhile has no meaning: another process may have created a new one.
        var (held, found) = (stat(), stat())
        // SAFETY: the kernel fills in the structures.
        guard unsafe fstat(descriptor, &held) == 0, unsafe stat(path, &found) == 0,
            held.st_ino == found.st_ino
        else {
            _ = close(descriptor)
            return nil
        }
        return descriptor
    }

    /// A folder's descriptor; nil when there is none.
    ///
    /// - Throws: `BPFError`, with EPERM for a folder in which another user could replace pins.
    private static func openOwn(_ folder: String) throws(BPFError) -> Int32? {
        let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = Glibc.errno
            if code == ENOENT { return nil }
            // A link is ENOTDIR with O_DIRECTORY, ELOOP without (open(2)).
            throw BPFError(
                operation: "open folder", subject: folder, errno: code,
                remedy: code == ENOTDIR || code == ELOOP
                    ? "it is a link or a file of other software: remove it" : nil)
        }
        var status = stat()
        // SAFETY: the kernel fills in the structure.
        guard unsafe fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else {
            _ = close(descriptor)
            throw BPFError(
                operation: "open folder", subject: folder, errno: EPERM,
                reason:
                    "user \(status.st_uid) has it (mode \(String(status.st_mode & 0o7777, radix: 8)))",
                remedy: "remove it, or run udp-fanout as that user")
        }
        return descriptor
    }

    deinit { _ = close(descriptor) }

    /// The path of a pin in it.
    public func path(of pin: String) -> String { "\(path)/\(pin)" }

    /// Removes a pin, if there is one.
    public func remove(_ pin: String) { _ = unsafe unlink(path(of: pin)) }

    /// A mark in the folder, for the next process that opens it.
    public func setMark(_ name: String, _ isSet: Bool) {
        _ = unsafe isSet ? mkdir(path(of: name), 0o700) : rmdir(path(of: name))
    }

    public func hasMark(_ name: String) -> Bool { unsafe access(path(of: name), F_OK) == 0 }

    /// Removes the folder when it is empty, and its parent when this was the last. The lock stays until deinit.
    public func removeIfEmpty() {
        _ = unsafe rmdir(path)
        _ = unsafe rmdir(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
    }

    /// BPF_FS_MAGIC (include/uapi/linux/magic.h).
    private static let magic: Int64 = 0xcafe_4a11

    private static func mount(at root: String) throws(BPFError) {
        if isFileSystem(root) { return }
        let flags = UInt(MS_NOSUID | MS_NODEV | MS_NOEXEC)
        // SAFETY: strings that are read before the call returns.
        let result = unsafe Glibc.mount("bpf", root, "bpf", flags, "mode=0711")
        if result == 0, isFileSystem(root) { return }
        throw BPFError(
            operation: "mount", subject: root, errno: result == 0 ? ENODEV : Glibc.errno,
            remedy: "mount the BPF file system: mount -t bpf bpf \(root)")
    }

    private static func isFileSystem(_ path: String) -> Bool {
        // SAFETY: the path is read before the call returns.
        unsafe cnet_file_system(path) == magic
    }
}

/// The network namespace of the calling thread, as a number that is unique at a time (namespaces(7)); 0 when /proc is
/// not mounted.
public enum NetworkNamespace {
    public static var current: UInt64 {
        var status = stat()
        // SAFETY: the kernel fills in the structure.
        return unsafe stat("/proc/thread-self/ns/net", &status) == 0 ? UInt64(status.st_ino) : 0
    }
}

extension PinFolder {
    /// Removes folders of dead processes with their pins: those whose names `isStale` selects, unless a process holds
    /// them.
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

    /// Removes the marks with this prefix, except for one.
    public func removeMarks(startingWith prefix: String, but kept: String? = nil) {
        for name in Self.entries(of: path) where name.hasPrefix(prefix) && name != kept {
            setMark(name, false)
        }
    }

    /// Whether there is a folder of that name, locked or not.
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
            let name = unsafe String(array: entry.pointee.d_name)
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
