// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Tells of changes of the network, in the namespace of the thread that made it.
///
/// Who reads the tables after `init` has returned misses nothing: what changes later has its event.
public final class NetlinkMonitor: Sendable {
    private let loop: MonitorLoop
    private let thread: Mutex<MonitorThread?>

    /// Bytes of events that may wait; some hundred bytes to two kilobytes make one.
    public static let defaultReceiveBuffer: Int32 = 1 << 20

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - topics: what to tell of.
    ///   - receiveBufferBytes: what the kernel keeps while `body` is busy; that is all the memory
    ///     that events can take. With CAP_NET_ADMIN it is granted whatever `net.core.rmem_max`
    ///     says.
    ///   - body: gets every event in order, on a thread of its own. While it runs no other event is
    ///     read; what then does not fit becomes one `resynchronise`. It must not call `stop` nor
    ///     hold the last reference to the monitor: the thread cannot wait for itself.
    /// - Throws: `NetlinkError` as `Netlink.init`, or EAGAIN when the system has no thread left.
    public convenience init(
        _ topics: Set<NetlinkEvent.Topic> = Set(NetlinkEvent.Topic.allCases),
        receiveBufferBytes: Int32 = defaultReceiveBuffer,
        body: @escaping @Sendable (NetlinkEvent) -> Void
    ) throws(NetlinkError) {
        try self.init(MonitorLoop(topics, receiveBufferBytes: receiveBufferBytes), body)
    }

    /// Starts to listen for features that change.
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

    /// Ends it: once this returns, `body` does not run and will not. Later calls do nothing.
    public func stop() {
        loop.end()
        // A second caller waits here for the first.
        thread.withLock { $0.take()?.join() }
    }
}
