// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import LinuxNet
internal import XDPSockets

extension AFXDPWorker {
    /// Puts a packet into the transmit ring to its receiver, or drops it when the ring is full.
    @_noLocks @_noAllocation @inline(__always)
    mutating func append(
        _ packet: Packet, payload: UInt32, _ egress: Int32,
        _ service: UnsafeMutablePointer<Service>, _ target: UnsafeMutablePointer<Target>
    ) {
        let socket = unsafe table.pointee.egresses[Int(egress)]
        switch unsafe socket.pointee.transmit.append(packet, of: &store) {
        case .appended: unsafe credit(payload, service, target)
        case .full, .invalid: unsafe appendAgain(packet, payload, socket, service, target)
        }
    }

    /// The ring is full: there may be room after the kernel was told to send.
    @_noLocks @_noAllocation
    private mutating func appendAgain(
        _ packet: Packet, _ payload: UInt32, _ socket: UnsafeMutablePointer<XDPSocket>,
        _ service: UnsafeMutablePointer<Service>, _ target: UnsafeMutablePointer<Target>
    ) {
        unsafe flush(socket)
        switch unsafe socket.pointee.transmit.append(packet, of: &store) {
        case .appended: unsafe credit(payload, service, target)
        case .full: unsafe drop(packet, LB_DROP_WOULD_BLOCK, service, target)
        case .invalid: unsafe drop(packet, LB_DROP_REWRITE_FAILED, service, target)
        }
    }

    /// Makes the kernel send the appended packets, and takes back the frames of sent ones.
    ///
    /// - Returns: whether packets are left that the kernel did not accept.
    @discardableResult
    @_noLocks @_noAllocation
    mutating func transmit() -> Bool {
        var isOwing = false
        var number = 0
        let count = unsafe table.pointee.egressCount
        while number < count {
            if unsafe flush(table.pointee.egresses[number]) { isOwing = true }
            number &+= 1
        }
        return isOwing
    }

    /// The same for one socket.
    ///
    /// A call sends 32 packets and reports that there are more, so it is repeated until all are sent or the kernel
    /// accepts no more.
    @discardableResult
    @_noLocks @_noAllocation
    mutating func flush(_ socket: UnsafeMutablePointer<XDPSocket>) -> Bool {
        unsafe socket.pointee.transmit.publish()
        var waiting = unsafe socket.pointee.transmit.waiting
        while waiting > 0, unsafe socket.pointee.transmit.needsWakeup {
            let wake = unsafe socket.pointee.wakeTransmitter()
            unsafe socket.pointee.completion.drain(into: &store)
            let left = unsafe socket.pointee.transmit.waiting
            guard case .later = wake, left < waiting else {
                waiting = left
                break
            }
            waiting = left
        }
        unsafe socket.pointee.completion.drain(into: &store)
        return waiting > 0
    }
}
