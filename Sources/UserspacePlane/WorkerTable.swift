// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import LinuxNet

/// A receiver in a worker's table.
struct Target {
    /// The socket that is connected to it.
    let descriptor: Int32
    /// Whether the datagrams leave through a raw socket with the client's source.
    let preservesSource: Bool
    let isIPv6: Bool
    /// Address and port for the UDP header that a raw socket needs.
    let address: lb_addr
    let port: UInt16
    /// The peer of the socket, to connect it again.
    var name: cnet_name
    let counters: CounterRow
    /// The first and last run of this batch, or -1.
    var head: Int32 = -1
    var tail: Int32 = -1
    /// Super-packets consist of datagrams below this size. Reduced when the path refuses one.
    var superPacketLimit: Int32 = .max
    /// Batches until the limit is lifted again: routes and MTUs change.
    var limitLasts: Int32 = 0
    /// Whether the socket has been connected again in this batch, and the error of that.
    var reconnected = false
    var reconnectError: Int32 = 0
}

/// A worker's table: the receiver of each slot, and the links to the receivers. Only the worker uses the targets while
/// it has the table; the plane builds a new table for every change.
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

/// A table for one worker, with its links. It frees itself when dropped, so a change that fails half-way leaks nothing.
@safe final class PreparedTable: @unchecked Sendable {
    /// The limit of a listener's sockets to receivers; beyond it workers share them. Each takes a descriptor and a
    /// local port (`net.ipv4.ip_local_port_range` has 28 232), and time to open and close when receivers change.
    static let socketsOfOneListener = 1024

    let links: [Endpoint: DownstreamLink]
    // SAFETY: allocated by `WorkerTable.make`, freed in deinit; by then the worker has another one or has ended.
    let table: UnsafeMutablePointer<WorkerTable>

    private init(
        _ table: UnsafeMutablePointer<WorkerTable>, links: [Endpoint: DownstreamLink]
    ) {
        unsafe self.table = unsafe table
        self.links = links
    }

    deinit { unsafe WorkerTable.free(table) }

    /// One table for each of `count` workers.
    ///
    /// - Parameter existing: the workers' links, which are kept; empty, or one dictionary a worker.
    static func make(
        for listener: Listener, workers count: Int, existing: [[Endpoint: DownstreamLink]]
    ) throws(PlaneError) -> [PreparedTable] {
        let slots = listener.slotTable
        let shares = count * listener.downstreams.count > socketsOfOneListener
        var shared: [Endpoint: SendSocket] = [:]
        var result: [PreparedTable] = []
        for worker in 0..<count {
            var links: [Endpoint: DownstreamLink] = [:]
            var targets: [Target] = []
            for downstream in listener.downstreams {
                let endpoint = downstream.endpoint
                let known = existing.isEmpty ? nil : existing[worker][endpoint]
                let link: DownstreamLink
                if let known {
                    link = known
                } else if let socket = shared[endpoint] {
                    link = DownstreamLink(socket, ownsSocket: false)
                } else {
                    let socket = try SendSocket(to: downstream, of: listener)
                    if shares { shared[endpoint] = socket }
                    link = DownstreamLink(socket)
                }
                links[endpoint] = link
                targets.append(try link.target(for: downstream, of: listener))
            }
            let table = unsafe WorkerTable.make(slots: slots, targets: targets)
            unsafe result.append(PreparedTable(table, links: links))
        }
        return result
    }
}
