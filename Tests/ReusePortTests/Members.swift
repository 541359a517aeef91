// SPDX-License-Identifier: Apache-2.0

import CNet
import FanoutCore
import Glibc
import LabNet
import LinuxNet
import ReusePortLB

/// UDP members of one group within this process, by slot.
final class Members {
    let endpoint: Endpoint
    private var sockets: [Int: Held] = [:]

    /// A socket in its slot.
    private final class Held {
        let socket: ReusePortSocket
        var membership: Membership?

        init(_ group: borrowing ReusePortGroup, _ endpoint: Endpoint, _ slot: Int) throws {
            socket = try ReusePortSocket(boundTo: endpoint, receiveBuffer: Sink.bufferBytes)
            membership = try group.join(socket, slot: slot)
        }

        func leave() throws { try membership.take()?.leave() }
    }

    init(_ group: borrowing ReusePortGroup, count: Int, on endpoint: Endpoint) throws {
        self.endpoint = endpoint
        for slot in 0..<count { try join(group, slot) }
    }

    func join(_ group: borrowing ReusePortGroup, _ slot: Int) throws {
        sockets[slot] = try Held(group, endpoint, slot)
    }

    /// Leaves the slot and keeps the socket, which must not be used any more.
    func leave(_ slot: Int) throws { try sockets[slot]?.leave() }

    /// Closes the socket as the end of its process would: the kernel empties the slot.
    func die(_ slot: Int) {
        guard let held = sockets.removeValue(forKey: slot) else { return }
        // A descriptor that is closed twice may have become another one meanwhile. So an unused socket takes over
        // the number.
        let other = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        dup2(other, held.socket.descriptor)
        close(other)
    }

    /// The datagrams since the last call: by source, how many each slot received.
    func arrivals() throws -> [IPAddress: [Int: Int]] {
        var result: [IPAddress: [Int: Int]] = [:]
        var batch = ReceiveBatch(capacity: 256, maximumBytes: 64)
        for (slot, held) in sockets {
            while try held.socket.receive(into: &batch, waits: false) > 0 {
                for index in 0..<batch.count {
                    result[batch.source(index).address, default: [:]][slot, default: 0] += 1
                }
            }
        }
        return result
    }

    /// The one slot that received each source.
    func homes() throws -> [IPAddress: Int] {
        try arrivals().mapValues { slots in slots.count == 1 ? slots.first!.key : -1 }
    }
}

extension ReusePortSocket {
    /// The address of a socket that has one. (`#require` takes no property of a noncopyable value.)
    var bound: Endpoint {
        get throws {
            let endpoint = endpoint
            guard let endpoint else { throw Failed("the socket is not bound", EDESTADDRREQ) }
            return endpoint
        }
    }
}

/// One socket that sends from many addresses: those of 127.0.0.0/8, or of a prefix local to a namespace.
final class Spray {
    private let socket: Socket
    private let destination: Endpoint

    init(to destination: Endpoint) throws {
        self.destination = destination
        socket = try Socket(
            family: destination.address.nativeFamily, type: Int32(SOCK_DGRAM.rawValue))
        try socket.connect(to: destination)
    }

    /// Sends `each` datagrams from each of the sources.
    func send(from sources: [IPAddress], each: Int = 1) throws {
        for source in sources {
            for _ in 0..<each { try send(from: source) }
        }
    }

    private func send(from source: IPAddress) throws {
        var payload: [UInt8] = Array("hello".utf8)
        let control = UnsafeMutableRawPointer.allocate(byteCount: CNET_SEND_CONTROL, alignment: 16)
        defer { control.deallocate() }
        let length =
            source.family == .v4
            ? cnet_write_source_v4(control, source.v4)
            : cnet_write_source_v6(control, source.high, source.low)
        try payload.withUnsafeMutableBytes { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            try withUnsafeMutablePointer(to: &vector) { vector in
                var message = cnet_message()
                message.header.msg_iov = vector
                message.header.msg_iovlen = 1
                message.header.msg_control = control
                message.header.msg_controllen = length
                let result = cnet_send_batch(socket.descriptor, &message, 1, 0)
                guard result == 1 else { throw SystemError("send from \(source)", code: -result) }
            }
        }
    }
}

extension IPAddress {
    /// `count` addresses 127.1.0.0 and up.
    static func v4Sources(_ count: Int) -> [IPAddress] {
        (0..<UInt32(count)).map { IPAddress(v4: 0x7f01_0000 + $0) }
    }

    /// `count` addresses of fd00:1::/64.
    static func v6Sources(_ count: Int) -> [IPAddress] {
        (1...UInt64(count)).map { IPAddress(high: 0xfd00_0001_0000_0000, low: $0) }
    }
}

/// Runs a closure in a namespace in which every address of fd00:1::/64 is local.
func withV6Sources<Value: Sendable>(
    _ body: @Sendable () async throws -> Value
) async throws -> Value {
    try await Namespace.run([
        "link set lo up", "-6 route add local fd00:1::/64 dev lo", "addr add fd00::1/128 dev lo",
    ]) {
        try Namespace.set("ipv6/ip_nonlocal_bind", to: "1")
        return try await body()
    }
}
