// SPDX-License-Identifier: Apache-2.0

import CNet
public import FanoutCore
import Glibc
import LinuxNet
import Synchronization

/// A received datagram.
public struct Received: Equatable, Sendable {
    public let payload: [UInt8]
    public let source: Endpoint

    public init(payload: [UInt8], source: Endpoint) {
        self.payload = payload
        self.source = source
    }
}

/// A UDP receiver: a socket, a thread that reads it, and a record of the arrivals.
public final class Sink: Sendable {
    /// The receive buffer in bytes; only root can exceed `net.core.rmem_max`.
    public static let bufferBytes = 64 << 20

    public let endpoint: Endpoint
    private let socket: Socket
    private let record: SinkRecord
    private let thread: Mutex<Thread?>

    /// - Parameters:
    ///   - address: the address to bind.
    ///   - port: 0 for a free one.
    ///   - keepsPayloads: false at high rates: stamped datagrams are then tallied by flow, all are counted, and none is
    ///     kept.
    ///   - keepsTimes: whether `log` says when each stamped datagram was read.
    public init(
        on address: IPAddress = .loopback, port: UInt16 = 0, keepsPayloads: Bool = true,
        keepsTimes: Bool = false
    ) throws {
        socket = try Socket(
            family: address.nativeFamily, type: Int32(SOCK_DGRAM.rawValue))
        _ = try socket.requestReceiveBuffer(bytes: Self.bufferBytes)
        try socket.bind(to: Endpoint(address, port: port))
        endpoint = Endpoint(address, port: try socket.boundPort)
        record = SinkRecord(keepsPayloads: keepsPayloads, keepsTimes: keepsTimes)
        let (descriptor, record) = (socket.descriptor, record)
        thread = Mutex(try Thread(name: "sink") { SinkReader(descriptor, record).run() })
    }

    deinit { stop() }

    /// Stops the reader after it has read the queue. The port stays bound until the sink is released.
    public func stop() {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        record.end()
        socket.wakeReceiver()
        thread.join()
    }

    /// Datagrams so far.
    public var count: UInt64 { record.read { $0.count } }

    /// Payload bytes so far.
    public var bytes: UInt64 { record.read { $0.bytes } }

    /// Everything that arrived, in order; empty unless payloads are kept.
    public var datagrams: [Received] { record.read { $0.datagrams } }

    /// What arrived of each stamped flow.
    public var flows: [UInt32: FlowTally] { record.read { $0.flows } }

    /// Each stamped datagram with its time, in the order of reading; empty unless times are kept.
    public var log: [Arrival] { record.read { $0.arrivals } }

    /// Stamped datagrams whose bytes are not what was sent.
    public var damaged: UInt64 { record.read { $0.damaged } }

    /// Datagrams that the kernel dropped at this socket.
    public var kernelDrops: UInt64 { socket.kernelDrops }

    /// All datagrams at the socket, read or dropped.
    public var arrivals: UInt64 { count + kernelDrops }
}
