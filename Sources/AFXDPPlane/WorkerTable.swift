// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import LinuxNet
internal import XDPSockets

/// The listener of a destination: an entry of an open-addressed table.
struct Destination {
    /// All zeros for every address.
    var address = lb_addr()
    var port: UInt16 = 0
    /// The listener's index in the table; `none` for a free entry.
    var listener: UInt16 = Destination.none

    static var none: UInt16 {
        @_noLocks @_noAllocation @inline(__always)
        get { 0xffff }
    }
}

/// A receiver in a worker's table.
@safe struct Target {
    var receiver: lb_receiver
    /// The new Ethernet header.
    var link: lb_link
    /// The index of the socket to it, or `kernel` when the kernel must send.
    let egress: Int32
    /// Bytes of the longest IP packet that may go out by `egress`.
    let mtu: UInt32
    /// Whether it is on this host: then the packet is not forwarded and keeps its TTL.
    let isLocal: Bool
    // SAFETY: the table's own, as long as it lives.
    /// Its address as a socket address.
    let name: UnsafeMutablePointer<cnet_name>
    let counters: CounterRow

    static var kernel: Int32 {
        @_noLocks @_noAllocation @inline(__always)
        get { -1 }
    }
}

/// A listener in a worker's table.
@safe struct Service {
    let key: Balance.KeySource
    /// The bytes of `payload`.
    var payloadKey: lb_payload_key
    /// The seed of the hash.
    let seed: UInt64
    let maxPacketSize: UInt32
    let slotCount: UInt32
    // SAFETY: the table's own, as long as it lives.
    let slots: UnsafeMutablePointer<UInt16>
    let targets: UnsafeMutablePointer<Target>
    let counters: CounterRow
    // SAFETY: of a row that the table keeps.
    let nextSlot: UnsafeMutablePointer<UInt32>
}

/// A worker's table: the listener of each destination, the receiver of each slot, and how to reach them.
@safe struct WorkerTable {
    // SAFETY: all are of this table, which a `PreparedTable` frees when the worker has another one.
    let destinations: UnsafeMutablePointer<Destination>
    /// Their number less one; a power of two, at most half of them in use.
    let mask: UInt32
    let servesAny: Bool
    let services: UnsafeMutablePointer<Service>
    let serviceCount: Int
    /// The sockets to send by.
    let egresses: UnsafeMutablePointer<UnsafeMutablePointer<XDPSocket>>
    let egressCount: Int

    /// The listener's index; `none` for an unserved destination.
    @_noLocks @_noAllocation @inline(__always)
    func find(_ address: lb_addr, _ port: UInt16) -> UInt16 {
        var place = Self.hash(address, port) & mask
        while true {
            let entry = unsafe destinations + Int(place)
            let listener = unsafe entry.pointee.listener
            if listener == Destination.none { return listener }
            if unsafe entry.pointee.address.low == address.low
                && entry.pointee.address.high == address.high && entry.pointee.port == port
            {
                return listener
            }
            place = (place &+ 1) & mask
        }
    }

    @_noLocks @_noAllocation @inline(__always)
    static func hash(_ address: lb_addr, _ port: UInt16) -> UInt32 {
        let mixed = (address.low ^ address.high ^ UInt64(port) << 32) &* 0x9e37_79b9_7f4a_7c15
        return UInt32(truncatingIfNeeded: mixed >> 32)
    }
}
