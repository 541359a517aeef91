// SPDX-License-Identifier: Apache-2.0

internal import CLibXDP
internal import Glibc

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
        /// For how long a queue that is taken is tried again. Where the former owner has just closed, 20
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
