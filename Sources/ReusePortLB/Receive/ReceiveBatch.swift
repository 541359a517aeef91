// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc

/// What the kernel does for the reader of a UDP socket (``ReusePortSocket/prepare(_:)``).
public struct ReceiveOptions: OptionSet, Hashable, Sendable {
    /// Datagrams of one sender come merged (UDP_GRO, Linux 5.0), which makes bursts cheap; a ``ReceiveBatch`` splits
    /// them. Other ways to read the socket then return several datagrams as one.
    ///
    /// Where the network card or a sender on this host merges them, the group's counters count a merged packet once.
    public static let gro = ReceiveOptions(rawValue: RPLB_GRO.rawValue)
    /// ``Datagram/receivedNanoseconds`` (SO_TIMESTAMPNS).
    public static let timestamps = ReceiveOptions(rawValue: RPLB_TIMESTAMPS.rawValue)
    /// ``ReceiveBatch/kernelDrops(_:)`` (SO_RXQ_OVFL).
    public static let drops = ReceiveOptions(rawValue: RPLB_DROPS.rawValue)

    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// A received datagram.
public struct Datagram: Hashable, Sendable {
    /// The payload; cut when ``isTruncated``.
    public let bytes: [UInt8]
    /// The sender's address.
    public let source: Endpoint
    /// Whether the datagram was longer than the buffer.
    public let isTruncated: Bool
    /// When the kernel received it, in nanoseconds since 1970; nil without ``ReceiveOptions/timestamps``.
    public let receivedNanoseconds: UInt64?

    public init(
        bytes: [UInt8], source: Endpoint, isTruncated: Bool = false,
        receivedNanoseconds: UInt64? = nil
    ) {
        self.bytes = bytes
        self.source = source
        self.isTruncated = isTruncated
        self.receivedNanoseconds = receivedNanoseconds
    }
}

/// Memory for the datagrams of one recvmmsg(2), allocated once and reused: 64 KiB of address space a message, of which
/// the kernel provides what datagrams reach.
@safe public struct ReceiveBatch: ~Copyable, @unchecked Sendable {
    /// Datagrams that one call can receive, or packets that the kernel has merged from several (``ReceiveOptions/gro``).
    public let capacity: Int
    /// Bytes kept of a datagram.
    public let maximumBytes: Int
    /// Datagrams that the last call received.
    public private(set) var count = 0

    // SAFETY: made in init, freed in deinit, and used by the owner of this value alone.
    private let native: OpaquePointer
    /// Those of the last call; the batch owns them.
    private var datagrams: UnsafePointer<rplb_datagram>?

    /// - Parameters:
    ///   - capacity: 1...1024 datagrams; other values are clamped.
    ///   - maximumBytes: 1...65535; a longer datagram is cut and marked.
    public init(capacity: Int = 64, maximumBytes: Int = 65_535) {
        self.capacity = min(max(capacity, 1), 1024)
        self.maximumBytes = min(max(maximumBytes, 1), 65_535)
        var made: OpaquePointer?
        let result = unsafe rplb_batch_new(
            UInt32(self.capacity), UInt32(self.maximumBytes), &made)
        guard result == 0, let made = unsafe made else { fatalError("out of memory") }
        unsafe native = made
    }

    deinit { unsafe rplb_batch_free(native) }

    /// Receives from a socket.
    ///
    /// - Parameter limit: most messages; nil: as many as there is room for.
    /// - Returns: 0, or -errno.
    mutating func receive(from descriptor: Int32, atMost limit: Int?, waits: Bool) -> Int32 {
        let wanted = UInt32(min(max(limit ?? capacity, 1), capacity))
        count = 0
        return unsafe rplb_receive_batch(
            native, descriptor, wanted, waits ? 0 : RPLB_DONT_WAIT.rawValue, &datagrams, &count)
    }

    private func native(_ index: Int) -> rplb_datagram {
        precondition(index >= 0 && index < count, "no such datagram in the batch")
        // SAFETY: the last call has received `count` datagrams.
        return unsafe datagrams.unsafelyUnwrapped[index]
    }

    /// The sender of datagram `index` of 0..<``count``. Does not allocate.
    public func source(_ index: Int) -> Endpoint {
        let name = unsafe UnsafeRawPointer(native(index).source)
        // A socket over IP has only IP senders; this default is never used.
        return unsafe name.flatMap { unsafe Endpoint(reading: $0) }
            ?? Endpoint(IPAddress(v4: 0), port: 0)
    }

    /// Length of datagram `index` in bytes, including those cut off.
    public func length(_ index: Int) -> Int { unsafe Int(native(index).length) }

    /// Whether datagram `index` was longer than ``maximumBytes``.
    public func isTruncated(_ index: Int) -> Bool {
        let datagram = unsafe native(index)
        return unsafe datagram.kept < datagram.length
    }

    /// When the kernel received datagram `index`, in nanoseconds since 1970; nil without ``ReceiveOptions/timestamps``.
    public func receivedNanoseconds(_ index: Int) -> UInt64? {
        let time = unsafe native(index).received_ns
        return time == 0 ? nil : time
    }

    /// How many datagrams the kernel had dropped at the socket before it queued datagram `index`; wraps around after
    /// 2^32. 0 without ``ReceiveOptions/drops``.
    public func kernelDrops(_ index: Int) -> UInt32 { unsafe native(index).drops }

    /// Calls `body` with the kept bytes of datagram `index`.
    public func withBytes<Result>(_ index: Int, _ body: (RawSpan) -> Result) -> Result {
        let datagram = unsafe native(index)
        // SAFETY: so many bytes are there, and nothing writes while `self` is borrowed.
        let bytes = unsafe UnsafeRawBufferPointer(
            start: datagram.bytes, count: Int(datagram.kept))
        return body(unsafe bytes.bytes)
    }

    /// A copy of datagram `index`.
    public func datagram(_ index: Int) -> Datagram {
        let bytes = withBytes(index) { span in
            unsafe span.withUnsafeBytes { unsafe [UInt8]($0) }
        }
        return Datagram(
            bytes: bytes, source: source(index), isTruncated: isTruncated(index),
            receivedNanoseconds: receivedNanoseconds(index))
    }
}
