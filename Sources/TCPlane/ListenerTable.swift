// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import KernelForwarding

/// One listener's table as bytes, in the layout of lb/tables.h: head, receivers, slots.
struct ListenerTable {
    let listener: Listener
    /// The row of the listener's counters.
    let row: UInt32
    /// The row of each receiver's counters.
    let rows: [Endpoint: UInt32]
    /// The listener's destination, when it is the only one on its port.
    let sole: ServedDestination?
    let paths: [IPAddress: ReceiverPath]
    let capacity: TableCapacity
    /// Receivers behind a link without carrier.
    var unplugged: Set<IPAddress> = []

    /// Of `capacity.tableBytes` bytes. Receivers are in the listener's order, to which the slots
    /// refer.
    var bytes: [UInt8] {
        let receivers = listener.downstreams.map { downstream in
            var receiver = (paths[downstream.endpoint.address] ?? .routes)
                .receiver(downstream.endpoint, row: rows[downstream.endpoint] ?? 0)
            if unplugged.contains(downstream.endpoint.address) {
                receiver.flags |= UInt8(LB_RECEIVER_UNPLUGGED)
            }
            return receiver
        }
        var head = lb_table(listener, row: row)
        if let key = sole?.key {
            head.address = key.address
            head.ifindex = key.ifindex
        }
        return capacity.room.bytes(head, receivers, listener.slotTable.slots)
    }
}

/// The counters of a listener's removed rows, by receiver.
struct Tally: Sendable {
    var listener = Counts()
    var receivers = PastCounts<Counts>()
}

/// How a port is served: an element of the map `ports`.
enum ServedPort: Equatable, Sendable {
    /// One destination, in the table of the listener with this number.
    case sole(ServedDestination, listener: UInt32)
    /// Several destinations, or every one: the map `listeners` has them.
    case shared

    /// The value in lb/tables.h.
    var value: UInt32 {
        switch self {
        case .sole(_, let listener): listener + 1
        case .shared: LB_PORT_SHARED
        }
    }

    /// By port, for destinations with their listeners' numbers.
    static func all(of entries: [ServedDestination: UInt32]) -> [UInt16: ServedPort] {
        var ports: [UInt16: ServedPort] = [:]
        for (entry, listener) in entries where entry.port != 0 {
            let isSole = ports[entry.port] == nil && entry.address != nil
            ports[entry.port] = isSole ? .sole(entry, listener: listener) : .shared
        }
        return ports
    }
}
