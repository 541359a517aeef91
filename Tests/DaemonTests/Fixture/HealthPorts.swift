// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet

/// TCP ports with the numbers of the sinks' UDP ports. While they are open, probes of protocol `tcp` succeed, and
/// no sink counts a probe as a datagram.
final class HealthPorts {
    private let addresses: [(address: UInt32, port: UInt16)]
    private var held: [HeldPort?]

    /// - Parameter enter: runs its argument where the receiver of this index lives.
    init(_ sinks: [Sink], enter: (Int, () throws -> HeldPort) throws -> HeldPort = { try $1() })
        throws
    {
        addresses = sinks.map { ($0.endpoint.address.v4, $0.endpoint.port) }
        held = sinks.map { _ in nil }
        try openAll(enter)
    }

    func openAll(_ enter: (Int, () throws -> HeldPort) throws -> HeldPort = { try $1() }) throws {
        for index in addresses.indices { held[index] = try enter(index) { try listening(index) } }
    }

    func open(_ index: Int) throws { held[index] = try listening(index) }

    func close(_ index: Int) { held[index] = nil }

    func closeAll() { held = held.map { _ in nil } }

    private func listening(_ index: Int) throws -> HeldPort {
        let (address, port) = addresses[index]
        let held = try HeldPort(port, SOCK_STREAM, address: address, listens: true)
        // The test accepts no connection, so the queue must hold all its probes.
        guard listen(held.descriptor, 1024) == 0 else { throw Failed("listen") }
        return held
    }
}
