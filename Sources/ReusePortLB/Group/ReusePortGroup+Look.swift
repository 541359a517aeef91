// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc

/// What is to be seen of a group.
extension ReusePortGroup {
    public borrowing func info() throws(ReusePortError) -> GroupInfo {
        var info = rplb_info()
        try check(
            unsafe rplb_info(handle.native, &info), "look at", handle.subject,
            RPLB_CALL_REPORT)
        guard let key = Key(info.key) else {
            throw ReusePortError("look at", handle.subject, errno: EPROTONOSUPPORT)
        }
        return GroupInfo(
            count: Int(info.count), key: key, seed: info.seed,
            address: Endpoint(storage: info.address), abi: Int(info.abi))
    }

    /// The counters of one slot.
    ///
    /// - Parameter slot: 0..<``maximumCount``; slots that the group had before a resize keep theirs.
    public borrowing func counters(slot: Int) throws(ReusePortError) -> SlotCounters {
        var row = rplb_counters()
        let number = UInt32(exactly: slot) ?? .max
        try check(
            unsafe rplb_counters(handle.native, number, &row),
            "read the counters of slot \(slot) of",
            handle.subject, RPLB_CALL_REPORT)
        return SlotCounters(selected: row.selected, fallback: row.fallback, missed: row.missed)
    }

    /// The counters of every slot below the group's count, in their order.
    public borrowing func counters() throws(ReusePortError) -> [SlotCounters] {
        var rows: [SlotCounters] = []
        for slot in 0..<(try info().count) { rows.append(try counters(slot: slot)) }
        return rows
    }

    /// Packets that found no member at all, so that the kernel chose among the sockets on the port.
    public borrowing func leftToKernel() throws(ReusePortError) -> UInt64 {
        var packets: UInt64 = 0
        try check(
            unsafe rplb_left_to_kernel(handle.native, &packets), "read the counters of",
            handle.subject, RPLB_CALL_REPORT)
        return packets
    }

    /// The live members by transport and slot.
    public borrowing func members() throws(ReusePortError) -> [Member] {
        // SAFETY: any bytes are a valid rplb_member, and there is room for as many as are announced.
        let capacity = 2 * Self.maximumCount
        var rows = [rplb_member](repeating: rplb_member(), count: capacity)
        var found = 0
        try check(
            unsafe rplb_members(handle.native, &rows, capacity, &found), "list the members of",
            handle.subject, RPLB_CALL_REPORT)
        return rows.prefix(found).map(Member.init)
    }
}

extension Member {
    init(_ native: rplb_member) {
        slot = Int(native.slot)
        transport = native.protocol == Int32(IPPROTO_TCP) ? .tcp : .udp
        cookie = native.cookie
        joinedNanoseconds = native.joined_ns == 0 ? nil : native.joined_ns
        pid = native.pid == 0 ? nil : native.pid
        uid = native.joined_ns == 0 ? nil : native.uid
    }
}
