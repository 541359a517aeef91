// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
public import FanoutCore

/// A client and the server that it stays with.
public struct Association: Equatable, Sendable {
    public let client: Endpoint
    public let transport: NATTransport
    /// nil when the server is gone: the client's next packet gives it to another one.
    public let server: Endpoint?
    /// The virtual address that answers come from.
    public let service: Endpoint?
    /// Whether the server has answered, or spoken first.
    public let isAnswered: Bool
    /// Since it was made, in whole seconds.
    public let ageSeconds: Int
}

/// An entry of a map of associations, as the kernel has it (lb/nat.h).
struct AssociationRecord {
    let client: Endpoint
    let transport: NATTransport
    let front: UInt32
    let server: UInt16
    let generation: UInt32
    let service: UInt16
    let ageSeconds: Int

    /// - Parameter now: CLOCK_MONOTONIC in seconds.
    init(key: [UInt8], value: [UInt8], isV6: Bool, now: UInt64) {
        var client = lb_nat_client()
        let words = key.words(of: UInt64.self)
        client.words = isV6 ? (words[0], words[1], words[2]) : (words[0], 0, 0)
        // SAFETY: the functions read the one value behind the pointer before they return.
        let address = unsafe lb_nat_client_address(&client, isV6 ? 1 : 0)
        let rest = unsafe lb_nat_client_rest(&client, isV6 ? 1 : 0)
        self.client = Endpoint(
            IPAddress(high: address.high, low: address.low), port: UInt16(truncatingIfNeeded: rest))
        transport = UInt8(truncatingIfNeeded: rest >> 16) == 6 ? .tcp : .udp
        front = rest >> 24
        let association = value.read(lb_nat_association.self)
        server = UInt16(lb_nat_server_of(association.word))
        generation = lb_nat_generation_of(association.word)
        service = UInt16(lb_nat_service_of(association.word))
        ageSeconds = Int(lb_nat_age_of(association.word, now))
    }
}
