// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// A table for one worker, with the links that it needs. Dropped, it frees itself, so a change that fails half-way
/// leaves nothing behind.
@safe final class PreparedTable: @unchecked Sendable {
    /// A listener with more sockets to its receivers than this shares them between its workers:
    /// each takes a descriptor and a local port (`net.ipv4.ip_local_port_range` has 28 232), and the time to
    /// open and close it when receivers change.
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
    /// - Parameter existing: the links that the workers have, which are kept as they are; empty, or
    ///   one dictionary a worker.
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
