// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Detects changes of the file behind a path: written in place, replaced by rename, or reached through a changed
/// symbolic link (as Kubernetes updates a ConfigMap).
///
/// It polls the path. File events would require watching every link and folder on the path, and do not exist on
/// network file systems.
public struct FileWatch: Sendable {
    private let path: String
    private let interval: Duration

    /// - Parameter interval: between two polls; a change is reported once the file was the same twice, so that it is
    ///   not read while it is being written.
    public init(path: String, interval: Duration = .milliseconds(250)) {
        self.path = path
        self.interval = interval
    }

    /// Calls `body` for each change, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - known: the file's state when it was last read, so that no change since then is missed.
    ///   - tellsOfAbsence: whether the file's removal and return are changes. Otherwise its return is a change only if
    ///     its state differs.
    ///   - unchanged: called at each poll that finds the file unchanged.
    ///   - body: returns whether the change has been handled; otherwise the next poll reports it again.
    public func run(
        since known: FileState?, tellsOfAbsence: Bool = false, unchanged: @Sendable () -> Void = {},
        _ body: @Sendable () async -> Bool
    ) async {
        var reported = known
        var previous = FileState(of: path)
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: interval)
            } catch {
                return
            }
            let now = FileState(of: path)
            defer { previous = now }
            if now == reported {
                unchanged()
                continue
            }
            guard now == previous, now != nil || tellsOfAbsence else { continue }
            if await body() { reported = now }
        }
    }
}

/// The state of a file, for comparison (stat(2), links followed).
public struct FileState: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let bytes: Int64
    private let modified: [Int]
    private let changed: [Int]

    /// nil when there is no such file.
    public init?(of path: String) {
        var facts = stat()
        // SAFETY: the kernel fills `facts`, which lives on this stack, and reads `path` up to its NUL.
        guard unsafe stat(path, &facts) == 0 else { return nil }
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
        bytes = Int64(facts.st_size)
        modified = [facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec]
        changed = [facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec]
    }
}
