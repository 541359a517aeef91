// SPDX-License-Identifier: Apache-2.0

internal import ReusePortLB
internal import Synchronization

/// The last lines that a group's log was told. What the kernel's verifier says is long, and its end is what
/// matters.
final class LogTail: Sendable {
    static let most = 12

    private let kept = Mutex<[String]>([])

    /// The last lines, oldest first.
    var lines: [String] { kept.withLock { $0 } }

    /// What is said at the level of debugging is libbpf's own progress, and left out.
    func add(_ level: GroupOptions.LogLevel, _ line: String) {
        guard level != .debug else { return }
        kept.withLock { lines in
            lines.append(line)
            if lines.count > Self.most { lines.removeFirst() }
        }
    }
}
