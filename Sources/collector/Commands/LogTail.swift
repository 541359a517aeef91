// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import ReusePortLB
internal import Synchronization

/// The last lines of a group's log: the end of the kernel verifier's long output has the cause. Once the group is
/// open, an error in its log is a warning to the user.
final class LogTail: Sendable {
    static let most = 12

    private let kept = Mutex<[String]>([])
    private let isOpen = Atomic(false)

    /// The last lines, oldest first.
    var lines: [String] { kept.withLock { $0 } }

    func groupIsOpen() { isOpen.store(true, ordering: .releasing) }

    /// Leaves out level debug, which is libbpf's own progress.
    func add(_ level: GroupOptions.LogLevel, _ line: String) {
        guard level != .debug else { return }
        if level == .error, isOpen.load(ordering: .acquiring) {
            StandardStream.error.write("collector: warning: \(Printable.line(line))\n")
        }
        kept.withLock { lines in
            lines.append(line)
            if lines.count > Self.most { lines.removeFirst() }
        }
    }
}
