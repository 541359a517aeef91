// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

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
