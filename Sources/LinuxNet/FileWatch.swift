// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Notices when the file behind a path changes: written in place, replaced by rename, or reached
/// through a symbolic link that now leads elsewhere (which is how Kubernetes updates a ConfigMap).
///
/// It looks at the path from time to time. Watching for events would have to follow every link and
/// folder on the way, and hears nothing on network file systems.
public struct FileWatch: Sendable {
    private let path: String
    private let interval: Duration

    /// - Parameter interval: between two looks; a change is reported once the file looked the same
    ///   twice, so that a file being written is not read half-way.
    public init(path: String, interval: Duration = .milliseconds(250)) {
        self.path = path
        self.interval = interval
    }

    /// Calls `body` for each change, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - known: the file's state when it was last read, so that no change between then and now is missed.
    ///   - tellsOfAbsence: whether it is a change when the file vanishes, and when it returns. Otherwise its
    ///     return is one if anything about it differs.
    ///   - unchanged: called at each look that finds the file as it was.
    ///   - body: returns whether the change has been dealt with; otherwise the next look reports it again.
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

/// What tells one state of a file from another (stat(2), links followed).
public struct FileState: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let bytes: Int64
    private let modified: [Int]
    private let changed: [Int]

    /// nil when the path leads nowhere.
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
