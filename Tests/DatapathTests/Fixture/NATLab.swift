// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Testing

/// One service with three servers on another port, and any number of clients.
struct NATLab {
    let family: IPAddress.Family
    let fixture: NATFixture
    let service: Endpoint

    init(
        _ family: IPAddress.Family, _ settings: NATFixture.Settings = .init(),
        balance: Balance = .roundRobin
    ) throws {
        self.family = family
        fixture = try NATFixture(settings)
        service = try NATCase.service(family)
        try fixture.listen(
            on: ["\(service)"], servers: (0..<3).map { "\(try Self.server($0, family))" }, balance)
    }

    func server(_ number: Int) throws -> Endpoint { try Self.server(number, family) }

    private static func server(_ number: Int, _ family: IPAddress.Family) throws -> Endpoint {
        try Endpoint(
            parsing: family == .v4
                ? "10.1.0.\(number + 1):7001" : "[2001:db8:51::\(number + 1)]:7001")
    }

    func client(_ number: Int) throws -> Endpoint {
        let address =
            family == .v4
            ? IPAddress(v4: 0xc612_0001 + UInt32(number))
            : IPAddress(high: 0x2001_0db8_0007_0000, low: 1 + UInt64(number))
        return Endpoint(address, port: 40000)
    }

    func association(_ client: Int) throws -> NATFixture.Association? {
        try fixture.association(of: self.client(client))
    }

    /// Sends a client's request.
    ///
    /// - Returns: the server that gets it; nil when it is dropped.
    @discardableResult
    func request(_ client: Int) throws -> Endpoint? { try request(from: self.client(client)) }

    @discardableResult
    func request(from client: Endpoint) throws -> Endpoint? {
        let packet = try Datagram(from: "\(client)", to: "\(service)")
        let outcome = try fixture.run(packet)
        guard outcome.verdict != .drop else { return nil }
        let server: Endpoint = try #require(
            fixture.servers.map(\.endpoint).first {
                outcome.output == packet.turned(destination: $0).frame
            }, "\(outcome)")
        return server
    }

    /// Sends a packet of a server to a client.
    ///
    /// - Returns: the source that the client sees; nil when the packet is dropped.
    @discardableResult
    func answer(_ server: Int, to client: Int) throws -> Endpoint? {
        let packet = try Datagram(from: "\(self.server(server))", to: "\(self.client(client))")
        let outcome = try fixture.run(packet)
        guard outcome.verdict != .drop else { return nil }
        try #require(
            outcome == .init(verdict: .transmit, output: packet.turned(source: service).frame))
        return service
    }
}
