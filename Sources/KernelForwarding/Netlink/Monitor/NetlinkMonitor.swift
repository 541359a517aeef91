// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Reports changes of the network, in the namespace of the thread that made it.
///
/// Every change after `init` has returned has an event, so tables that are read then can be kept up to date.
public final class NetlinkMonitor: Sendable {
    private let loop: MonitorLoop
    private let thread: Mutex<MonitorThread?>

    /// Buffer space in bytes for pending events, of some hundred bytes to two kilobytes each.
    public static let defaultReceiveBuffer: Int32 = 1 << 20

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - topics: the subjects of events.
    ///   - receiveBufferBytes: the kernel's buffer for events while `body` is busy, which limits the memory for events.
    ///     With CAP_NET_ADMIN it may exceed `net.core.rmem_max`.
    ///   - body: gets every event in order, on a thread of its own. While it runs no other event is read; events beyond
    ///     the buffer become one `resynchronise`. It must not call `stop` or hold the last reference to the monitor:
    ///     the thread cannot wait for itself.
    /// - Throws: `NetlinkError` as `Netlink.init`, or EAGAIN when the system has no thread left.
    public convenience init(
        _ topics: Set<NetlinkEvent.Topic> = Set(NetlinkEvent.Topic.allCases),
        receiveBufferBytes: Int32 = defaultReceiveBuffer,
        body: @escaping @Sendable (NetlinkEvent) -> Void
    ) throws(NetlinkError) {
        try self.init(MonitorLoop(topics, receiveBufferBytes: receiveBufferBytes), body)
    }

    /// Starts to listen for changed features.
    ///
    /// - Parameter body: as above.
    /// - Throws: as above.
    public convenience init(
        _ netdev: borrowing Netdev, body: @escaping @Sendable (NetlinkEvent) -> Void
    ) throws(NetlinkError) {
        try self.init(MonitorLoop(netdev, receiveBufferBytes: Self.defaultReceiveBuffer), body)
    }

    private init(
        _ loop: MonitorLoop, _ body: @escaping @Sendable (NetlinkEvent) -> Void
    ) throws(NetlinkError) {
        self.loop = loop
        thread = try Mutex(MonitorThread(name: "netlink") { loop.run(body) })
    }

    deinit { stop() }

    /// Stops it: after this returns, `body` does not run any more. Later calls do nothing.
    public func stop() {
        loop.end()
        // A second caller waits here for the first.
        thread.withLock { $0.take()?.join() }
    }
}
