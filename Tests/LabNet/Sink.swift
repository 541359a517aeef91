// SPDX-License-Identifier: Apache-2.0

import CNet
public import FanoutCore
import Glibc
import LinuxNet
import Synchronization

/// A datagram as a receiver got it.
public struct Received: Equatable, Sendable {
    public let payload: [UInt8]
    public let source: Endpoint

    public init(payload: [UInt8], source: Endpoint) {
        self.payload = payload
        self.source = source
    }
}

/// A UDP receiver: a socket, a thread that reads it, and what arrived.
public final class Sink: Sendable {
    /// Bytes that wait in the kernel for the reader; above `net.core.rmem_max` for root alone.
    public static let bufferBytes = 64 << 20

    public let endpoint: Endpoint
    private let socket: Socket
    private let record: SinkRecord
    private let thread: Mutex<Thread?>

    /// - Parameters:
    ///   - address: where to listen.
    ///   - port: 0 for one that is free.
    ///   - keepsPayloads: false at high rates: stamped datagrams are then tallied by flow, all are
    ///     counted, and none is kept.
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

    /// Closes nothing yet: the port stays taken until the sink is gone, and what is in the queue is
    /// read first.
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

    /// Everything that reached the socket, read or dropped there.
    public var arrivals: UInt64 { count + kernelDrops }
}
