// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("TCP groups")
    struct TCPTests {}
}

/// TCP listeners of one group within this process.
final class Listeners {
    let endpoint: Endpoint
    private var descriptors: [Int: Int32] = [:]

    init(count: Int, on endpoint: Endpoint) throws {
        self.endpoint = endpoint
        for slot in 0..<count { descriptors[slot] = try Self.listener(endpoint) }
    }

    deinit { for descriptor in descriptors.values { close(descriptor) } }

    private static func listener(_ endpoint: Endpoint) throws -> Int32 {
        let socket = try Socket(
            family: endpoint.address.nativeFamily,
            type: Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue))
        try socket.setOption("SO_REUSEPORT", level: SOL_SOCKET, SO_REUSEPORT, to: 1)
        try socket.bind(to: endpoint)
        guard listen(socket.descriptor, 1024) == 0 else {
            throw SystemError("listen", code: errno)
        }
        return fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
    }

    func descriptor(_ slot: Int) throws -> Int32 { try #require(descriptors[slot]) }

    func close(_ slot: Int) {
        if let descriptor = descriptors.removeValue(forKey: slot) { Glibc.close(descriptor) }
    }

    private func close(_ descriptor: Int32) { Glibc.close(descriptor) }

    /// Accepts what waits at a listener: the peers.
    func accept(_ slot: Int) throws -> [IPAddress] {
        var peers: [IPAddress] = []
        while true {
            var name = sockaddr_in6()
            var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let connection = try withUnsafeMutablePointer(to: &name) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.accept(try descriptor(slot), $0, &size)
                }
            }
            guard connection >= 0 else { return peers }
            Glibc.close(connection)
            peers.append(
                withUnsafeBytes(of: &name) { Endpoint(native: $0.baseAddress!).address })
        }
    }
}

/// A connection from a source of its own.
func connection(from source: IPAddress, to endpoint: Endpoint) throws -> Socket {
    let socket = try Socket(
        family: endpoint.address.nativeFamily, type: Int32(SOCK_STREAM.rawValue))
    try socket.bind(to: Endpoint(source, port: 0))
    try socket.connect(to: endpoint)
    return socket
}

extension ReusePortTests.TCPTests {
    static func checkSources(_ sources: [IPAddress], on address: IPAddress) throws {
        let group = try Place().group(count: 3)
        let listeners = try Listeners(count: 3, on: try .free(on: address))
        let first = try group.join(descriptor: listeners.descriptor(0), slot: 0)
        let second = try group.join(descriptor: listeners.descriptor(1), slot: 1)
        let third = try group.join(descriptor: listeners.descriptor(2), slot: 2)
        let prediction = Prediction(count: 3)
        for _ in 0..<2 {
            for source in sources { _ = try connection(from: source, to: listeners.endpoint) }
        }
        for slot in 0..<3 {
            let expected = sources.filter { prediction.slot(of: $0) == slot }
            #expect(try Set(listeners.accept(slot)) == Set(expected), "slot \(slot)")
            #expect(try group.counters(slot: slot).selected == UInt64(expected.count * 2))
        }
        #expect(try Sums(group) == Sums(selected: UInt64(sources.count * 2)))
        #expect(try group.members().map(\.transport) == [.tcp, .tcp, .tcp])
        try first.leave()
        try second.leave()
        try third.leave()
    }

    @Test("IPv4: the connections of a source reach the listener of the table, by the program")
    func v4() throws { try Self.checkSources(IPAddress.v4Sources(32), on: .loopback) }

    @Test("IPv6: the connections of a source reach the listener of the table, by the program")
    func v6() async throws {
        try await withV6Sources {
            try Self.checkSources(
                IPAddress.v6Sources(32), on: IPAddress(high: 0xfd00_0000_0000_0000, low: 1))
        }
    }

    @Test("connections that wait at a listener that dies are moved to another one: all of them")
    func migration() async throws {
        let group = try Place().group(count: 2)
        let listeners = try Listeners(count: 2, on: try .free())
        let first = try group.join(descriptor: listeners.descriptor(0), slot: 0)
        let second = try group.join(descriptor: listeners.descriptor(1), slot: 1)
        let prediction = Prediction(count: 2)
        let sources = IPAddress.v4Sources(64).filter { prediction.slot(of: $0) == 0 }.prefix(4)
        let connections = try sources.map {
            Connected(try connection(from: $0, to: listeners.endpoint))
        }
        listeners.close(0)
        var moved: [IPAddress] = []
        try await eventually("four connections are moved") {
            moved += try listeners.accept(1)
            return moved.count >= 4
        }
        #expect(Set(moved) == Set(sources))
        #expect(connections.count == 4)
        // The first choice is gone when they move, so the other one stands in.
        #expect(try group.counters(slot: 1).fallback == 4)
        try first.leave()
        try second.leave()
    }

    /// Keeps a connection in an array, which takes no noncopyable values.
    private final class Connected {
        let socket: Socket
        init(_ socket: consuming Socket) { self.socket = socket }
    }

    @Test("UDP and TCP members of one group share its slots, each protocol by itself")
    func both() throws {
        let group = try Place().group(count: 1)
        let listeners = try Listeners(count: 1, on: try .free())
        let stream = try group.join(descriptor: listeners.descriptor(0), slot: 0)
        let members = try Members(group, count: 1, on: listeners.endpoint)
        try Spray(to: members.endpoint).send(from: IPAddress.v4Sources(5))
        _ = try connection(from: .loopback, to: listeners.endpoint)
        #expect(try members.arrivals().count == 5)
        #expect(try listeners.accept(0) == [.loopback])
        #expect(try group.members().map(\.transport) == [.udp, .tcp])
        #expect(try Sums(group) == Sums(selected: 6))
        try stream.leave()
    }
}
