// SPDX-License-Identifier: Apache-2.0

@testable import BPFRuntime
import CDatapath
import CLibBPF
import FanoutCore
import Glibc
import KernelPrograms
import Testing

/// The program of tc_fanout.bpf.c with tables that a test fills. It is attached to no interface.
final class TCFixture {
    /// The interface index of the packets.
    static let interface: UInt32 = 7

    private let object: BPFObject
    let program: BPFProgram
    private var tables: [Int32] = []
    /// The only destination of each port, by the listener's number; nil for ports with several.
    private var soles: [UInt16: (listener: UInt32, key: lb_listener_key)?] = [:]
    private let receiversMax: Int
    private let slotsMax: Int

    init(receiversMax: Int = 8, slotsMax: Int = Int(LB_SLOTS_MIN), servesAny: Bool = false) throws {
        var object = try BPFObject(opening: .tcFanout)
        try object.set("lb_receivers_max", to: UInt32(receiversMax))
        try object.set("lb_slots_max", to: UInt32(slotsMax))
        try object.set("lb_serves_any", to: UInt8(servesAny ? 1 : 0))
        self.receiversMax = receiversMax
        self.slotsMax = slotsMax
        let inner = bpf_map__inner_map(bpf_object__find_map_by_name(object.handle, "tables"))
        let bytes = Self.tableBytes(receiversMax, slotsMax)
        #expect(bpf_map__set_value_size(inner, UInt32(bytes)) == 0)
        try object.load()
        program = try object.program(named: "udp_fanout")
        self.object = object
    }

    deinit { for table in tables { close(table) } }

    /// Makes listener `number` serve the endpoint (or every address on its port) on an interface. `fill` sets its
    /// table afterwards.
    func serve(
        _ endpoint: Endpoint, any: Bool = false, on interface: UInt32 = TCFixture.interface,
        listener number: UInt32 = 0
    ) throws {
        for port in [endpoint.port, 0] {
            var key = lb_listener_key()
            if !any { key.address = endpoint.address.datapath }
            key.ifindex = interface
            key.port = port
            try update("listeners", &key, number)
            if port != 0 { try serve(on: port, key, number, isSole: !any) }
        }
    }

    private func serve(
        on port: UInt16, _ key: lb_listener_key, _ number: UInt32, isSole: Bool
    ) throws {
        soles[port] = .some(isSole && soles[port] == nil ? (number, key) : nil)
        var index = UInt32(port)
        try update("ports", &index, soles[port]! == nil ? LB_PORT_SHARED : number + 1)
    }

    /// Replaces a listener's table.
    ///
    /// - Parameter row: the row of the listener's counters; its receivers have those from `firstRow` on.
    func fill(
        listener number: UInt32 = 0, _ balance: Balance, _ receivers: [Receiver], seed: UInt64 = 0,
        payload: PayloadKey? = nil, maxPacketSize: UInt32 = 9000, firstRow: UInt32 = 0
    ) throws {
        let slots = balance.slotTable(
            for: receivers.map(\.downstream), capacity: receiversMax
        ).slots
        var head = lb_table()
        head.seed = seed
        head.seed_v4 = lb_hash_high(seed, 0)
        head.key = Self.key(balance).rawValue
        head.payload = payload?.datapath ?? lb_payload_key()
        head.slots = UInt32(slots.count)
        head.max_packet_size = maxPacketSize
        head.row = number
        if let sole = soles.values.compactMap(\.self).first(where: { $0.listener == number }) {
            head.address = sole.key.address
            head.ifindex = sole.key.ifindex
        }
        var value = withUnsafeBytes(of: head) { Array($0) }
        for (index, receiver) in receivers.enumerated() {
            let record = receiver.record(row: firstRow + UInt32(index))
            value += withUnsafeBytes(of: record) { Array($0) }
        }
        value += [UInt8](
            repeating: 0,
            count: (receiversMax - receivers.count) * MemoryLayout<lb_receiver>.stride)
        value += slots.withUnsafeBytes { Array($0) }
        value += [UInt8](repeating: 0, count: (slotsMax - slots.count) * 2)
        let table = bpf_map_create(BPF_MAP_TYPE_ARRAY, "table", 4, UInt32(value.count), 1, nil)
        try #require(table >= 0)
        tables.append(table)
        var zero: UInt32 = 0
        try #require(bpf_map_update_elem(table, &zero, value, 0) == 0)
        var key = number
        try update("tables", &key, table)
    }

    /// The size of a table.
    static func tableBytes(_ receivers: Int, _ slots: Int) -> Int {
        MemoryLayout<lb_table>.stride + receivers * MemoryLayout<lb_receiver>.stride + slots * 2
    }

    private static func key(_ balance: Balance) -> lb_key_source {
        switch balance.keySource {
        case .counter: LB_KEY_COUNTER
        case .randomNumber: LB_KEY_RANDOM
        case .sourceAddress: LB_KEY_SOURCE_IP
        case .fourTuple: LB_KEY_FOUR_TUPLE
        case .payload: LB_KEY_PAYLOAD
        }
    }

    private func update(_ map: String, _ key: UnsafeRawPointer, _ value: some Any) throws {
        try withUnsafeBytes(of: value) { value in
            try #require(bpf_map_update_elem(descriptor(map), key, value.baseAddress, 0) == 0)
        }
    }

    private func descriptor(_ map: String) -> Int32 {
        bpf_object__find_map_fd_by_name(object.handle, map)
    }

    // MARK: Counters

    func listenerCounts(_ row: UInt32 = 0) throws -> Counts { try counts("listener_rows", row) }

    func receiverCounts(_ row: UInt32) throws -> Counts { try counts("receiver_rows", row) }

    private func counts(_ map: String, _ row: UInt32) throws -> Counts {
        let width = Int(LB_COUNTERS.rawValue)
        let cpus = Int(libbpf_num_possible_cpus())
        var words = [UInt64](repeating: 0, count: width * cpus)
        var row = row
        try #require(bpf_map_lookup_elem(descriptor(map), &row, &words) == 0)
        return Counts(
            words: (0..<width).map { word in
                (0..<cpus).reduce(0) { $0 + words[$1 * width + word] }
            })
    }
}
