// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import CNet
internal import Glibc

/// Reads notifications until `end` is called.
final class MonitorLoop: Sendable {
    private let socket: NetlinkSocket
    /// Room for notifications as the kernel counts it.
    private let receiveBuffer: Int
    private let ending: WakePair
    /// Parses a notification; nil when it is irrelevant.
    private let read: @Sendable (NetlinkMessage) -> NetlinkEvent?

    /// Reports changed features.
    init(_ netdev: borrowing Netdev, receiveBufferBytes: Int32) throws(NetlinkError) {
        ending = try WakePair()
        socket = try NetlinkSocket(waits: false, bus: NETLINK_GENERIC)
        receiveBuffer = try socket.setReceiveBuffer(bytes: receiveBufferBytes)
        read = { _ in .features }
        try socket.join(netdev.group)
    }

    init(_ topics: Set<NetlinkEvent.Topic>, receiveBufferBytes: Int32) throws(NetlinkError) {
        let groups = topics.reduce(0) { $0 | $1.groups }
        ending = try WakePair()
        socket = try NetlinkSocket(groups: groups, waits: false)
        read = { NetlinkEvent($0) }
        receiveBuffer = try socket.setReceiveBuffer(bytes: receiveBufferBytes)
    }

    /// Makes `run` return after the current event; from any thread.
    func end() { ending.wake() }

    /// Milliseconds from one reading to the next, so that hundreds of events a second need few wake-ups.
    private static let pause: Int32 = 20

    func run(_ body: (NetlinkEvent) -> Void) {
        var waits = [
            pollfd(fd: ending.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            // SAFETY: the array lives through the call and has two elements. A failure is EINTR.
            let ready = unsafe poll(&waits, 2, -1)
            guard waits[0].revents == 0 else { return }
            guard ready > 0 else { continue }
            if case .failed = readAll(body) { return }
            // SAFETY: as above, for the first element.
            _ = unsafe poll(&waits, 1, Self.pause)
            guard waits[0].revents == 0 else { return }
        }
    }

    /// Passes on every event in the socket, unless the end has come.
    ///
    /// - Returns: the last event after an error.
    private func readAll(_ body: (NetlinkEvent) -> Void) -> NetlinkEvent? {
        for _ in 0..<Self.readMax {
            do throws(NetlinkError) {
                for message in try socket.receive() {
                    if let event = read(message) { body(event) }
                }
            } catch {
                guard let event = event(after: error) else { return nil }
                body(event)
                return event
            }
        }
        return nil
    }

    /// Datagrams read without a look at `ending`.
    private static let readMax = 64

    private func event(after error: NetlinkError) -> NetlinkEvent? {
        switch error.errno {
        case EAGAIN: nil
        // Too many, too long, no memory: in each case notifications were lost.
        case ENOBUFS, ENOSPC, ENOMEM: drained()
        default: .failed(error)
        }
    }

    /// Empties the socket after a loss.
    ///
    /// After a loss the kernel drops every notification until the socket is empty, and does not report that again
    /// (`netlink_overrun`, `netlink_rcv_wake` in net/netlink/af_netlink.c). If `body` read the tables before that,
    /// changes would still get lost. The discarded notifications are older than its reading. The kernel adds nothing
    /// to a socket after a loss, so it is empty once as many bytes were read as it holds, though more may have arrived
    /// after that.
    private func drained() -> NetlinkEvent {
        var left = receiveBuffer
        while left > 0 {
            do throws(NetlinkError) {
                left -= try socket.receive().reduce(0) { $0 + $1.body.count }
            } catch {
                switch error.errno {
                case EAGAIN: return .resynchronise
                case ENOBUFS, ENOSPC, ENOMEM: left -= 1
                default: return .failed(error)
                }
            }
        }
        return .resynchronise
    }
}

/// A kernel thread that reads events, so that it does not occupy a thread of Swift's concurrency pool.
struct MonitorThread: ~Copyable, Sendable {
    private let handle: UInt

    /// - Throws: `NetlinkError` EAGAIN when the system's limit of threads is reached.
    init(name: String, _ body: @escaping @Sendable () -> Void) throws(NetlinkError) {
        let box = unsafe Unmanaged.passRetained(Body(body))
        var handle: UInt = 0
        // SAFETY: the box is retained above; the thread takes that reference, or we do on failure.
        let result = unsafe cnet_thread_start(
            &handle, 256 << 10, name,
            { unsafe Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run() }, box.toOpaque())
        if result < 0 {
            unsafe box.release()
            throw NetlinkError(
                operation: "start", subject: "the thread \(name)", errno: -result,
                remedy: "raise the limit of threads (ulimit -u)")
        }
        self.handle = handle
    }

    /// Waits for it to end.
    consuming func join() { _ = cnet_thread_join(handle) }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

/// A second descriptor for poll(2) beside the socket, to wake a thread.
struct WakePair: ~Copyable, Sendable {
    /// Readable from the first call of `wake` on.
    let descriptor: Int32
    private let other: Int32

    init() throws(NetlinkError) {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        // SAFETY: the kernel writes two descriptors, the array has room for two.
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else {
            throw NetlinkError(
                operation: "open", subject: "a socket pair", errno: Glibc.errno)
        }
        descriptor = pair[0]
        other = pair[1]
    }

    deinit {
        _ = close(descriptor)
        _ = close(other)
    }

    func wake() { _ = shutdown(other, Int32(SHUT_WR)) }
}
