// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
package import CDatapath
package import FanoutCore

/// The capacity of a listener's table for receivers and slots, and the table as bytes: head, receivers, slots
/// (lb/tables.h).
package struct TableRoom {
    private let receivers: Int
    private let slots: Int

    package init(receivers: Int, slots: Int) {
        self.receivers = receivers
        self.slots = slots
    }

    private var slotsOffset: Int {
        MemoryLayout<lb_table>.size + receivers * MemoryLayout<lb_receiver>.size
    }

    package var size: Int { slotsOffset + slots * MemoryLayout<UInt16>.size }

    /// - Parameter receivers: in the order of the listener, which the slots refer to.
    package func bytes(_ head: lb_table, _ receivers: [lb_receiver], _ slots: [UInt16]) -> [UInt8] {
        var bytes = [UInt8](native: head)
        bytes.reserveCapacity(size)
        bytes += [UInt8](native: receivers)
        bytes += repeatElement(0, count: slotsOffset - bytes.count)
        bytes += [UInt8](native: slots)
        bytes += repeatElement(0, count: size - bytes.count)
        return bytes
    }
}

extension lb_table {
    /// - Parameter row: the row of the listener's counters.
    package init(_ listener: Listener, row: UInt32) {
        self.init()
        seed = listener.settings.seed
        seed_v4 = lb_hash_high(seed, 0)
        key =
            switch listener.balance.keySource {
            case .counter: LB_KEY_COUNTER.rawValue
            case .randomNumber: LB_KEY_RANDOM.rawValue
            case .sourceAddress: LB_KEY_SOURCE_IP.rawValue
            case .fourTuple: LB_KEY_FOUR_TUPLE.rawValue
            case .payload: LB_KEY_PAYLOAD.rawValue
            }
        payload = listener.payloadKey?.datapath ?? lb_payload_key()
        slots = UInt32(listener.slotTable.slots.count)
        max_packet_size = UInt32(listener.settings.maxPacketSize)
        self.row = row
    }
}

extension Int {
    package static func powerOfTwo(atLeast wanted: Int) -> Int {
        var size = 1
        while size < wanted { size *= 2 }
        return size
    }
}
