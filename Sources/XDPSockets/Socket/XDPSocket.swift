// SPDX-License-Identifier: Apache-2.0

internal import CLibXDP
internal import CNet
internal import Glibc

/// An AF_XDP socket: the packets of one queue of an interface that an XDP program redirects to it, and a
/// way to send on that queue. It loads no program.
///
/// The rings are the hot path: `fill` gives the kernel frames, `receive` hands over packets, `transmit`
/// takes packets, `completion` gives their frames back. One worker owns all four and the `FrameStore`.
///
/// Closing: the socket that took over the memory stays open inside, bound to its queue, until the
/// last socket that shares it is closed too.
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

    /// Binds to a queue, with a memory that becomes the socket's.
    ///
    /// A queue that a socket has left is taken for some milliseconds yet, so a refusal for that reason
    /// is tried again, for as long as the settings say; the calling thread sleeps in between.
    ///
    /// - Throws: `XDPSocketError`: EPERM without CAP_NET_RAW, EBUSY when another socket keeps the queue,
    ///   EINVAL for a queue that is not there, ENODEV, EOPNOTSUPP when zero copy was asked for.
    public init(
        on queue: InterfaceQueue, using umem: consuming Umem, _ settings: Settings = Settings()
    ) throws(XDPSocketError) {
        let registration = umem.registration
        try self.init(on: queue, registration, settings)
    }

    /// Binds to another queue or another interface, with the memory of `other`: a packet that came in
    /// there can go out here, in the frame in which it lies. It has fill and completion rings of its own.
    ///
    /// Whether it copies is as with `other` (kernel: xp_assign_dev_shared).
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

    /// Closes the socket and takes back the frames that it had, in whatever ring or hands of the kernel
    /// they were. For a socket that shares its memory; what others have is not touched.
    ///
    /// A device that sends from the frames themselves may still be reading one that was under way. No
    /// socket of the same memory may be opened meanwhile by another thread: it could get this one's number.
    public consuming func close(returningFramesTo store: inout FrameStore) {
        let number = number
        let registration = registration
        _ = consume self
        store.reclaim(from: number)
        // Until here, since the frames are of its memory.
        _ = consume registration
    }

    /// The first byte of the memory; the addresses of packets count from here.
    public var base: UnsafeMutableRawPointer { unsafe registration.memory.base }

    /// Adds the frames that this socket has to a census.
    ///
    /// The kernel goes on meanwhile; the rings that frames go to are read before those that they come
    /// from, so that none is counted twice.
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
    /// How a socket is made.
    public struct Settings: Sendable {
        /// Entries of the receive and the transmit ring, powers of two up to 2^16.
        public var receiveEntries = 2048
        public var transmitEntries = 2048
        public var copying = Copying.automatic
        /// Whether the kernel may stop looking at the fill and transmit rings until it is woken, and says
        /// so in them (`needsWakeup`): less work for both (XDP_USE_NEED_WAKEUP, Linux 5.4).
        public var usesWakeups = true
        /// Whether the device is polled by the worker's calls rather than by interrupts; nil: no.
        public var busyPolling: BusyPolling?
        /// For how long a queue that is taken is tried again. When the old owner has just closed it, 20
        /// milliseconds have been enough.
        public var busyLimit = Duration.seconds(1)

        public init() {}

        /// Who moves the bytes between the device and the frames.
        public enum Copying: Sendable {
            /// The device, if it can; otherwise the kernel copies.
            case automatic
            /// The kernel copies.
            case always
            /// The device, or the socket is refused.
            case never
        }

        /// Options of the socket. They do little unless the interface also holds its interrupts back:
        /// `napi_defer_hard_irqs` 2 and `gro_flush_timeout` 200000 in /sys/class/net/NAME
        /// (Documentation/networking/af_xdp.rst).
        public struct BusyPolling: Equatable, Sendable {
            /// How long a call polls at most.
            public var microseconds: Int32
            /// How many packets a call takes at most.
            public var packets: Int32

            public init(microseconds: Int32 = 20, packets: Int32 = 64) {
                self.microseconds = microseconds
                self.packets = packets
            }
        }

        /// As libxdp takes it.
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
    /// What a call that has the kernel look at the rings came to.
    @frozen
    public enum Wake: Equatable, Sendable {
        case done
        /// The kernel did what it could; the rest stays in the ring for the next call: EAGAIN, EBUSY,
        /// ENOBUFS (net/xdp/xsk.c, __xsk_generic_xmit).
        case later
        /// Nothing moves: ENETDOWN when the interface is down, ENXIO when it is gone.
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

    /// Has the kernel send what is in the transmit ring: needed when `transmit.needsWakeup`, with copying
    /// for every batch. A call sends 32 packets, or as many as the budget of busy polling says.
    @_noLocks @_noAllocation
    public func wakeTransmitter() -> Wake { Wake(cnet_xdp_transmit(descriptor)) }

    /// Has the kernel receive: needed when `fill.needsWakeup`, and to poll busily.
    @_noLocks @_noAllocation
    public func wakeReceiver() -> Wake { Wake(cnet_xdp_receive(descriptor)) }

    /// What ended a sleep.
    @frozen
    public enum SleepEnd: Sendable { case packets, time, failed }

    /// Sleeps until there is a packet to receive.
    ///
    /// - Parameter milliseconds: at most; negative for no limit. A signal ends it too.
    /// - Returns: `failed` when the interface is gone or down, as long as it is.
    @_noLocks @_noAllocation
    public func awaitPackets(milliseconds: Int32) -> SleepEnd {
        let seen = cnet_wait_packets(descriptor, milliseconds)
        return seen == 0 ? .time : seen < 0 ? .failed : .packets
    }
}
