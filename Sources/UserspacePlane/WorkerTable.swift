// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import LinuxNet

/// A receiver as one worker sees it.
struct Target {
    /// The connected socket that leads there.
    let descriptor: Int32
    /// Whether the datagrams go out of a raw socket with the client's source.
    let preservesSource: Bool
    let isIPv6: Bool
    /// Address and port for the UDP header that a raw socket needs.
    let address: lb_addr
    let port: UInt16
    /// What the socket is connected to, to do it again.
    var name: cnet_name
    let counters: CounterRow
    /// The first and last run of this batch, or -1.
    var head: Int32 = -1
    var tail: Int32 = -1
    /// Super-packets are made of datagrams below this size. Falls when the path refuses one.
    var superPacketLimit: Int32 = .max
    /// Batches until the limit is lifted again: routes and MTUs change.
    var limitLasts: Int32 = 0
    /// Whether the socket has been led to its peer anew in this batch, and the error if it could not be.
    var reconnected = false
    var reconnectError: Int32 = 0
}

/// What a worker looks up: who owns each slot, and how to reach them. The worker alone touches the
/// targets while it has the table; the plane builds a new table for every change.
@safe struct WorkerTable {
    // SAFETY: both arrays are this table's own and live until `free`: until the worker has another table.
    let slots: UnsafeMutablePointer<UInt16>
    let slotCount: UInt32
    let targets: UnsafeMutablePointer<Target>
    let targetCount: Int

    static func make(slots table: SlotTable, targets list: [Target])
        -> UnsafeMutablePointer<WorkerTable>
    {
        let slots = UnsafeMutablePointer<UInt16>.allocate(capacity: max(1, table.slots.count))
        for (index, owner) in table.slots.enumerated() { unsafe slots[index] = owner }
        let targets = UnsafeMutablePointer<Target>.allocate(capacity: max(1, list.count))
        for (index, target) in list.enumerated() { unsafe (targets + index).initialize(to: target) }
        let result = UnsafeMutablePointer<WorkerTable>.allocate(capacity: 1)
        unsafe result.initialize(
            to: WorkerTable(
                slots: slots, slotCount: UInt32(table.slots.count), targets: targets,
                targetCount: list.count))
        return unsafe result
    }

    static func free(_ table: UnsafeMutablePointer<WorkerTable>) {
        unsafe table.pointee.slots.deallocate()
        unsafe table.pointee.targets.deallocate()
        unsafe table.deallocate()
    }
}
