// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore

/// The table of one front as bytes, as lb/tables.h lays it out: head, receivers, slots. Of a receiver the
/// program looks at the row alone, which is the number of the server.
struct FrontTable {
    let listener: Listener
    let port: UInt16
    let front: Front
    let capacity: NATCapacity

    /// Of `capacity.tableBytes` bytes. Receivers stand in the order of the listener, which is what the
    /// slots count; those of all fronts of a listener have the same slots, so that a client meets the
    /// same host on every port when its address decides.
    var bytes: [UInt8] {
        let slots = listener.slotTable.slots
        let receivers = listener.downstreams.map { downstream in
            var receiver = lb_receiver()
            let endpoint = listener.endpoint(of: downstream, at: port)
            receiver.address = endpoint.address.datapath
            receiver.port = endpoint.port
            receiver.is_v6 = endpoint.address.family == .v6 ? 1 : 0
            receiver.row = front.servers[endpoint].map { UInt32($0.number) } ?? nobody
            return receiver
        }
        var head = lb_table()
        head.seed = listener.settings.seed
        head.seed_v4 = lb_hash_high(head.seed, 0)
        head.key = listener.balance.keySource.inKernel
        head.slots = UInt32(slots.count)
        head.max_packet_size = UInt32(listener.settings.maxPacketSize)
        head.row = front.number
        var bytes = [UInt8](native: head) + [UInt8](native: receivers)
        let body = MemoryLayout<lb_table>.size + capacity.receivers * MemoryLayout<lb_receiver>.size
        bytes.reserveCapacity(capacity.tableBytes)
        bytes.append(contentsOf: repeatElement(0, count: body - bytes.count))
        bytes += [UInt8](native: slots)
        bytes.append(contentsOf: repeatElement(0, count: capacity.tableBytes - bytes.count))
        return bytes
    }

    /// A number that no server has.
    private var nobody: UInt32 { UInt32(LB_SERVERS_MAX) }
}

extension Balance.KeySource {
    /// What the kernel programs call it (enum lb_key_source).
    fileprivate var inKernel: UInt32 {
        switch self {
        case .counter: LB_KEY_COUNTER.rawValue
        case .randomNumber: LB_KEY_RANDOM.rawValue
        case .sourceAddress: LB_KEY_SOURCE_IP.rawValue
        case .fourTuple: LB_KEY_FOUR_TUPLE.rawValue
        }
    }
}
