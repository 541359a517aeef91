// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Wakes the reconciler: any number of changes since the last wake-up give one element.
public struct ChangeSignal: Sendable {
    let changes: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    public init() {
        (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func send() { continuation.yield() }
}

/// Collects reports of other threads and tasks, until the reconciler takes all of them at once.
final class Mailbox<Content: Sendable>: Sendable {
    private let empty: Content
    private let content: Mutex<Content>
    private let signal: ChangeSignal

    init(_ empty: Content, signal: ChangeSignal) {
        (self.empty, self.signal) = (empty, signal)
        content = Mutex(empty)
    }

    func put(_ change: (inout Content) -> Void) {
        content.withLock { change(&$0) }
        signal.send()
    }

    func take() -> Content {
        content.withLock { content in
            defer { content = empty }
            return content
        }
    }
}
