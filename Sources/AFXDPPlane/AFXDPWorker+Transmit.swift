// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import LinuxNet
internal import XDPSockets

extension AFXDPWorker {
    /// Puts a packet into the transmit ring that leads to its receiver, or drops it when there is no room.
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

    /// The ring is full: once the kernel has been told to send there may be room.
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

    /// Has the kernel send what was appended, and takes back the frames of what it has sent.
    ///
    /// - Returns: whether something waits that the kernel would not take.
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
    /// A call sends 32 packets and says that there are more; so the kernel is asked until all are gone or
    /// it takes no more.
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
