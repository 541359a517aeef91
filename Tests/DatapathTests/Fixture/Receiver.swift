// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore

/// A receiver in a table of a test.
struct Receiver: Sendable {
    var downstream: Downstream
    var path = LB_PATH_NEIGH
    /// The interface to send by; the loopback, where a test run sends nothing.
    var interface: UInt32 = 1
    /// The MTU of the route; 0: any.
    var mtu: UInt32 = 0
    /// Whether it is known to be on another host.
    var isRemote = false
    var hardwareAddress: [UInt8] = [2, 0, 0, 0, 0, 3]

    init(_ endpoint: String, weight: UInt16 = 1) throws {
        downstream = Downstream(
            name: endpoint, endpoint: try Endpoint(parsing: endpoint), weight: weight)
    }

    var endpoint: Endpoint { downstream.endpoint }

    func record(row: UInt32) -> lb_receiver {
        var record = lb_receiver()
        record.address = endpoint.address.datapath
        record.next_hop = record.address
        record.ifindex = interface
        record.mtu = mtu
        record.row = row
        record.port = endpoint.port
        record.path = UInt8(path.rawValue)
        record.is_v6 = endpoint.address.family == .v6 ? 1 : 0
        record.flags = isRemote ? UInt8(LB_RECEIVER_REMOTE) : 0
        withUnsafeMutableBytes(of: &record.mac) { $0.copyBytes(from: hardwareAddress) }
        return record
    }

    /// Three of one family, on another port, in an order other than that of their addresses.
    static func three(_ family: IPAddress.Family, path: lb_path = LB_PATH_NEIGH) throws
        -> [Receiver]
    {
        try [2, 1, 3].map { number in
            var receiver = try Receiver(
                family == .v4 ? "10.1.0.\(number):5140" : "[2001:db8:51::\(number)]:5140")
            receiver.path = path
            return receiver
        }
    }
}
