// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Waits for many sockets at once, and can be woken from any thread (epoll(7), eventfd(2)).
public final class Poller: Sendable {
    /// What `wait` returns for a wake-up.
    public static let wakeToken = UInt64.max

    private let descriptor: Int32
    private let event: Int32

    /// - Throws: `SystemError` EMFILE or ENFILE when descriptors run out.
    public init() throws(SystemError) {
        let poller = try check("epoll_create1", cnet_poller())
        do throws(SystemError) {
            event = try check("eventfd", cnet_event())
        } catch {
            _ = close(poller)
            throw error
        }
        descriptor = poller
        _ = cnet_poller_add(descriptor, event, 0, Self.wakeToken)
    }

    /// For descriptors that are no `Socket`.
    var handle: Int32 { descriptor }

    deinit {
        _ = close(event)
        _ = close(descriptor)
    }

    /// What to wait for.
    public enum Interest: Sendable { case reading, writing }

    /// Makes `wait` return `token` while the socket is ready or has an error, until it is closed.
    public func add(
        _ socket: borrowing Socket, for interest: Interest, token: UInt64
    ) throws(SystemError) {
        let isWriting: Int32 = interest == .writing ? 1 : 0
        try check(
            "epoll_ctl", cnet_poller_add(descriptor, socket.descriptor, isWriting, token))
    }

    /// Waits until something is ready.
    ///
    /// - Parameter milliseconds: the time limit; nil: none.
    /// - Returns: the tokens of ready sockets; none after the limit or a signal.
    public func wait(milliseconds: Int?) -> [UInt64] {
        let limit = milliseconds.map { Int32(clamping: $0) } ?? -1
        var tokens = [UInt64](repeating: 0, count: 64)
        // SAFETY: the function writes at most as many tokens as it is told there is room for.
        let ready = unsafe cnet_poller_wait(descriptor, &tokens, Int32(tokens.count), limit)
        return Array(tokens.prefix(Int(max(0, ready))))
    }

    /// Ends the current wait, or the next one.
    public func wake() { cnet_event_raise(event) }

    /// Clears earlier wake-ups.
    public func clearWake() { cnet_event_clear(event) }
}
