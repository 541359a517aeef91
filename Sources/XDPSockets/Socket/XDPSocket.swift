// SPDX-License-Identifier: Apache-2.0

internal import CLibXDP
internal import CNet
internal import Glibc

/// An AF_XDP socket: receives the packets of one queue of an interface that an XDP program redirects to it, and sends
/// on that queue. It loads no program.
///
/// The rings are the hot path: `fill` lends frames to the kernel, `receive` returns packets, `transmit` takes packets,
/// `completion` returns their frames. One worker owns all four and the `FrameStore`.
///
/// Closing: the first socket of the memory stays open inside, bound to its queue, until the last socket that shares the
/// memory is closed too.
@safe
public struct XDPSocket: ~Copyable, @unchecked Sendable {
    public let queue: InterfaceQueue
    /// Whether the device reads and writes the frames itself, rather than the kernel copying.
    public let isZeroCopy: Bool
    public var fill: FillRing
    public var completion: CompletionRing
    public var receive: ReceiveRing
    public var transmit: TransmitRing
    /// For poll, and for an XSKMAP. Valid as long as this lives.
    public let descriptor: Int32
    /// Its number among the sockets of the memory (`FramePlace`).
    public let number: UInt8
    let registration: UmemRegistration
    // SAFETY: from xsk_socket__create_shared; deleted in deinit, before rings and memory go.
    private let handle: OpaquePointer

    /// Binds to a queue, with a memory that the socket takes over.
    ///
    /// A released queue stays busy for some milliseconds, so a refusal for that reason is retried, for as long as the
    /// settings allow; the calling thread sleeps in between.
    ///
    /// - Throws: `XDPSocketError`: EPERM without CAP_NET_RAW, EBUSY when another socket keeps the queue, EINVAL for a
    ///   missing queue, ENODEV, EOPNOTSUPP when zero copy was requested.
    public init(
        on queue: InterfaceQueue, using umem: consuming Umem, _ settings: Settings = Settings()
    ) throws(XDPSocketError) {
        let registration = umem.registration
        try self.init(on: queue, registration, settings)
    }

    /// Binds to another queue or another interface, with the memory of `other`: a packet that came in there can leave
    /// here, in the same frame. It has fill and completion rings of its own.
    ///
    /// Whether it copies is inherited from `other` (kernel: xp_assign_dev_shared).
    ///
    /// - Throws: as the other initialiser.
    public init(
        on queue: InterfaceQueue, sharingMemoryOf other: borrowing XDPSocket,
        _ settings: Settings = Settings()
    ) throws(XDPSocketError) {
        try self.init(on: queue, other.registration, settings)
    }

    private init(
        on queue: InterfaceQueue, _ registration: UmemRegistration, _ settings: Settings
    ) throws(XDPSocketError) {
        try settings.check(on: queue)
        let opened = try OpenSocket(on: queue, registration, settings)
        self.queue = queue
        self.registration = registration
        unsafe handle = opened.handle
        number = opened.number
        unsafe descriptor = xsk_socket__fd(opened.handle)
        isZeroCopy = cnet_xdp_is_zero_copy(descriptor) == 1
        unsafe fill = FillRing(owning: opened.fill, socket: number)
        unsafe completion = CompletionRing(owning: opened.completion, socket: number)
        unsafe receive = ReceiveRing(owning: opened.receive, socket: number)
        unsafe transmit = TransmitRing(owning: opened.transmit, socket: number)
    }

    deinit {
        // SAFETY: made in init and deleted here alone; the rings, which it unmaps, go after it.
        unsafe xsk_socket__delete(handle)
        registration.giveNumber(number)
    }

    /// Closes the socket and takes back its frames from all rings and the kernel. For a socket that shares its memory;
    /// frames of other sockets are not affected.
    ///
    /// A device with zero copy may still be reading a frame. Until this returns, no other thread may open a socket of
    /// the same memory: it could get this one's number.
    public consuming func close(returningFramesTo store: inout FrameStore) {
        let number = number
        let registration = registration
        _ = consume self
        store.reclaim(from: number)
        // Kept until here, since the frames belong to its memory.
        _ = consume registration
    }

    /// The first byte of the memory; the addresses of packets count from here.
    public var base: UnsafeMutableRawPointer { unsafe registration.memory.base }

    /// Adds the frames of this socket to a census.
    ///
    /// The kernel continues meanwhile. Each ring that frames move to is read before the one that they come from, so
    /// that none is counted twice.
    public func count(in census: inout FrameCensus, of store: borrowing FrameStore) {
        let received = receive.waiting
        let completed = completion.waiting
        census.add(
            FrameCensus.Share(
                receiving: store.count(at: .receiving(number)),
                transmitting: store.count(at: .transmitting(number)), fill: fill.waiting,
                receive: received, transmit: transmit.waiting, completion: completed))
    }
}

extension XDPSocket {
    /// The settings of a socket.
    public struct Settings: Sendable {
        /// Entries of the receive and the transmit ring, powers of two up to 2^16.
        public var receiveEntries = 2048
        public var transmitEntries = 2048
        public var copying = Copying.automatic
        /// Whether the kernel may stop polling the fill and transmit rings until it is woken, and sets a flag in them
        /// (`needsWakeup`): less work for both (XDP_USE_NEED_WAKEUP, Linux 5.4).
        public var usesWakeups = true
        /// Busy polling: the worker's calls poll the device rather than interrupts; nil: off.
        public var busyPolling: BusyPolling?
        /// How long a busy queue is retried. When the old owner has just closed it, 20 milliseconds have been enough.
        public var busyLimit = Duration.seconds(1)

        public init() {}

        /// How bytes move between the device and the frames.
        public enum Copying: Sendable {
            /// The device, if it can; otherwise the kernel copies.
            case automatic
            /// The kernel copies.
            case always
            /// The device, or the socket is refused.
            case never
        }

        /// Options of the socket. They have little effect unless the interface also delays its interrupts:
        /// `napi_defer_hard_irqs` 2 and `gro_flush_timeout` 200000 in /sys/class/net/NAME
        /// (Documentation/networking/af_xdp.rst).
        public struct BusyPolling: Equatable, Sendable {
            /// The maximum time that a call polls.
            public var microseconds: Int32
            /// The maximum number of packets that a call takes.
            public var packets: Int32

            public init(microseconds: Int32 = 20, packets: Int32 = 64) {
                self.microseconds = microseconds
                self.packets = packets
            }
        }

        /// The value for libxdp.
        var config: xsk_socket_config {
            var config = xsk_socket_config()
            config.rx_size = UInt32(receiveEntries)
            config.tx_size = UInt32(transmitEntries)
            config.libxdp_flags = UInt32(XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD)
            switch copying {
            case .automatic: break
            case .always: config.bind_flags |= UInt16(XDP_COPY)
            case .never: config.bind_flags |= UInt16(XDP_ZEROCOPY)
            }
            if usesWakeups { config.bind_flags |= UInt16(XDP_USE_NEED_WAKEUP) }
            return config
        }

        func check(on queue: InterfaceQueue) throws(XDPSocketError) {
            for entries in [receiveEntries, transmitEntries]
            where !(1...1 << 16).contains(entries) || entries.nonzeroBitCount != 1 {
                throw XDPSocketError(
                    operation: "open AF_XDP socket on", subject: "\(queue)", errno: EINVAL,
                    reason: "no ring of \(entries) entries",
                    remedy: "give a power of two up to 65536")
            }
        }
    }
}

extension XDPSocket {
    /// The result of a wakeup call.
    @frozen
    public enum Wake: Equatable, Sendable {
        case done
        /// The kernel did what it could; the rest stays in the ring for the next call: EAGAIN, EBUSY, ENOBUFS
        /// (net/xdp/xsk.c, __xsk_generic_xmit).
        case later
        /// Nothing was sent: ENETDOWN when the interface is down, ENXIO when it is gone.
        case failed(Int32)

        @_noLocks @_noAllocation
        init(_ result: Int32) {
            switch result {
            case 0: self = .done
            case -EAGAIN, -EBUSY, -ENOBUFS: self = .later
            default: self = .failed(-result)
            }
        }
    }

    /// Makes the kernel send the transmit ring: needed when `transmit.needsWakeup`, with copying for every batch. A
    /// call sends 32 packets, or as many as the budget of busy polling allows.
    @_noLocks @_noAllocation
    public func wakeTransmitter() -> Wake { Wake(cnet_xdp_transmit(descriptor)) }

    /// Makes the kernel receive: needed when `fill.needsWakeup`, and for busy polling.
    @_noLocks @_noAllocation
    public func wakeReceiver() -> Wake { Wake(cnet_xdp_receive(descriptor)) }

    /// The reason for the end of a sleep.
    @frozen
    public enum SleepEnd: Sendable { case packets, time, failed }

    /// Sleeps until there is a packet to receive.
    ///
    /// - Parameter milliseconds: the maximum; negative for no limit. A signal ends it too.
    /// - Returns: `failed` when the interface is gone or down, as long as it is.
    @_noLocks @_noAllocation
    public func awaitPackets(milliseconds: Int32) -> SleepEnd {
        let seen = cnet_wait_packets(descriptor, milliseconds)
        return seen == 0 ? .time : seen < 0 ? .failed : .packets
    }
}
