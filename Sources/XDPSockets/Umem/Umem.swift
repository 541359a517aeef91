// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// The memory of packets, divided into frames that kernel and workers pass to each other
/// (Documentation/networking/af_xdp.rst, "UMEM").
///
/// A socket takes it over. Further sockets, of other devices or queues, share it with that one.
@safe
public struct Umem: ~Copyable, @unchecked Sendable {
    public let shape: Shape
    /// Whether its pages are from the pool of huge pages (`vm.nr_hugepages`). Otherwise the kernel uses transparent
    /// huge pages when it has some.
    public let usesHugePages: Bool
    let registration: UmemRegistration

    /// - Throws: `XDPSocketError`: EPERM without CAP_NET_RAW, ENOBUFS when the limit of locked memory is too low and
    ///   cannot be raised, ENOMEM, EINVAL for an invalid shape.
    public init(_ shape: Shape) throws(XDPSocketError) {
        try shape.check()
        registration = try UmemRegistration(shape)
        usesHugePages = registration.memory.isHuge
        self.shape = shape
    }

    /// The store of its frames, all of them free. Must be called once: a second store would give out the same frames.
    public func makeFrameStore() -> FrameStore {
        FrameStore(frames: shape.frames, frameBytes: shape.frameBytes)
    }

    /// Its first byte; addresses in rings count from here. Valid as long as this or a socket of it lives.
    public var base: UnsafeMutableRawPointer { unsafe registration.memory.base }

    /// The frames and rings of the memory.
    public struct Shape: Equatable, Sendable, CustomStringConvertible {
        /// Bytes of a frame: 2048 or 4096. A frame holds one packet.
        public var frameBytes: Int
        /// The number of frames, a power of two from 64 to 2^20. Each can wait for a packet, hold a packet that is
        /// being processed, or one that is being sent.
        public var frames: Int
        /// Entries of a fill ring and of a completion ring, powers of two up to 2^16.
        public var fillEntries: Int
        public var completionEntries: Int

        public init(
            frameBytes: Int = 2048, frames: Int = 8192, fillEntries: Int = 4096,
            completionEntries: Int = 2048
        ) {
            self.frameBytes = frameBytes
            self.frames = frames
            self.fillEntries = fillEntries
            self.completionEntries = completionEntries
        }

        public var bytes: Int { frameBytes * frames }

        /// The longest received packet, from the Ethernet header on: the kernel keeps 256 bytes before it
        /// (XDP_PACKET_HEADROOM, include/uapi/linux/bpf.h). It drops longer ones and counts them
        /// (`XDPStatistics.receiveDropped`), so a program should not redirect them here.
        public var longestPacket: Int { frameBytes - 256 }

        public var description: String { "\(frames) frames of \(frameBytes) bytes" }

        /// The error when packets of an interface can be too long for the frames; nil when all of them fit.
        ///
        /// - Parameter mtu: the MTU of the interface in bytes.
        public func objection(to mtu: Int, of interface: String) -> XDPSocketError? {
            let most = longestPacket - Self.linkHeaderBytes
            guard mtu > most else { return nil }
            return XDPSocketError(
                operation: "fit packets of", subject: "interface \(interface)", errno: EMSGSIZE,
                reason: "its MTU is \(mtu), and a frame of \(frameBytes) bytes holds \(most)",
                remedy: "longer packets go to the network stack; to have all of them: "
                    + "ip link set dev \(interface) mtu \(most)"
                    + (frameBytes < 4096 ? ", or frames of 4096 bytes" : ""))
        }

        /// An Ethernet header and two VLAN tags.
        private static let linkHeaderBytes = 14 + 2 * 4

        func check() throws(XDPSocketError) {
            guard [2048, 4096].contains(frameBytes) else {
                throw XDPSocketError(impossible: self, "no kernel takes such frames")
            }
            guard (64...1 << 20).contains(frames), frames.nonzeroBitCount == 1 else {
                throw XDPSocketError(impossible: self, "no such number of frames")
            }
            for entries in [fillEntries, completionEntries]
            where !(1...1 << 16).contains(entries) || entries.nonzeroBitCount != 1 {
                throw XDPSocketError(impossible: self, "no ring of \(entries) entries")
            }
        }
    }
}

/// The limit of locked memory (RLIMIT_MEMLOCK), which applies to frames unless the process has CAP_IPC_LOCK.
enum MemoryLock {
    /// Raises the limit by `bytes`: up to the hard limit, or beyond with CAP_SYS_RESOURCE.
    ///
    /// - Returns: whether it has been raised.
    static func allow(_ bytes: Int) -> Bool {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(8), &limit) == 0 else { return false }
        let wanted = limit.rlim_cur &+ rlim_t(bytes)
        guard wanted > limit.rlim_cur else { return false }
        let previous = limit
        limit.rlim_cur = wanted
        limit.rlim_max = max(previous.rlim_max, wanted)
        if unsafe setrlimit(__rlimit_resource_t(8), &limit) == 0 { return true }
        limit.rlim_cur = previous.rlim_max
        limit.rlim_max = previous.rlim_max
        guard limit.rlim_cur > previous.rlim_cur else { return false }
        return unsafe setrlimit(__rlimit_resource_t(8), &limit) == 0
    }
}

/// Pages for frames; unmapped in deinit.
@safe
struct UmemMemory: ~Copyable {
    let base: UnsafeMutableRawPointer
    let bytes: Int
    /// From the pool of huge pages.
    let isHuge: Bool

    /// The size of huge pages on most machines. Elsewhere the kernel refuses a length that is not whole pages, and
    /// normal ones are used.
    private static let hugePageBytes = 2 << 20

    /// - Returns: nil when there is no memory.
    init?(bytes: Int) {
        let huge = bytes % Self.hugePageBytes == 0 ? unsafe cnet_map_pages(bytes, 1) : nil
        guard let start = unsafe huge ?? cnet_map_pages(bytes, 0) else { return nil }
        unsafe base = start
        self.bytes = bytes
        isHuge = unsafe huge != nil
        // Fewer pages for the kernel and the worker to walk; optional.
        if !isHuge { _ = unsafe cnet_wish_huge_pages(start, bytes) }
    }

    deinit {
        // SAFETY: mapped in init with this length; the registration that the kernel had is gone.
        _ = unsafe munmap(base, bytes)
    }
}
