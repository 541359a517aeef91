// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// A folder in the BPF file system: a place for pins, and a lock that a process holds as long as it
/// lives. Its path is `ROOT/udp-fanout/NAME`.
public struct PinFolder: ~Copyable, Sendable {
    public let path: String
    private let descriptor: Int32

    /// Where the BPF file system is on most hosts.
    public static let usualRoot = "/sys/fs/bpf"

    /// Opens the folder, makes it if need be, and locks it.
    ///
    /// - Parameters:
    ///   - root: the BPF file system; one is mounted there when none is.
    ///   - name: without dots, which the kernel keeps for itself (kernel/bpf/inode.c, bpf_lookup).
    /// - Throws: `BPFError`; with EBUSY when another process holds it.
    public init(root: String = usualRoot, name: String) throws(BPFError) {
        let path = "\(root)/udp-fanout/\(name)"
        let locked = try Self.lock(path, root: root)
        self.path = path
        descriptor = locked
    }

    private static func lock(_ path: String, root: String) throws(BPFError) -> Int32 {
        try mount(at: root)
        for folder in ["\(root)/udp-fanout", path]
        where unsafe mkdir(folder, 0o700) != 0 && Glibc.errno != EEXIST {
            let code = Glibc.errno
            throw BPFError(
                operation: "make folder", subject: folder, errno: code,
                remedy: code == EROFS ? "it is read-only: mount -o remount,rw \(root)" : nil)
        }
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw BPFError(operation: "open folder", subject: path, errno: Glibc.errno)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = Glibc.errno == EWOULDBLOCK ? EBUSY : Glibc.errno
            _ = close(descriptor)
            throw BPFError(
                operation: "lock", subject: path, errno: code,
                reason: code == EBUSY ? "another process holds it" : nil,
                remedy: "stop the other udp-fanout on this interface, or name both in one file")
        }
        return descriptor
    }

    deinit { _ = close(descriptor) }

    /// The path of a pin in it.
    public func path(of pin: String) -> String { "\(path)/\(pin)" }

    /// Takes a pin away, if it is there.
    public func remove(_ pin: String) { _ = unsafe unlink(path(of: pin)) }

    /// A mark in the folder, for the next process that opens it.
    public func setMark(_ name: String, _ isSet: Bool) {
        _ = unsafe isSet ? mkdir(path(of: name), 0o700) : rmdir(path(of: name))
    }

    public func hasMark(_ name: String) -> Bool { unsafe access(path(of: name), F_OK) == 0 }

    /// Removes the folder when it is empty, and the one above it when this was the last. The lock stays
    /// until deinit.
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

/// The network namespace of the calling thread, as a number that no other has at the same time
/// (namespaces(7)); 0 when /proc is not mounted.
public enum NetworkNamespace {
    public static var current: UInt64 {
        var status = stat()
        // SAFETY: the kernel fills in the structure.
        return unsafe stat("/proc/thread-self/ns/net", &status) == 0 ? UInt64(status.st_ino) : 0
    }
}
