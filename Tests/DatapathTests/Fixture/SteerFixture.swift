// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import CLibBPF
import FanoutCore
import Glibc
import LabNet
import Testing
import XDPSockets

/// The program of xdp_steer.bpf.c, with a socket in the first place of its map. It is attached to no interface:
/// a test run returns only the verdict.
final class SteerFixture {
    static let mac: [UInt8] = [2, 0, 0, 0, 0, 1]
    static let longest = 1792

    private let object: BPFObject
    private let program: BPFProgram
    private let listeners: BPFMap
    private let sockets: BPFMap
    private let network: Network
    /// The socket is of the first queue of `near`, a veth with two.
    private var socket: XDPSocket?
    private let near: UInt32

    init(servesAny: Bool = false, longest: Int = SteerFixture.longest) throws {
        var object = try BPFObject(opening: .xdpSteer)
        try object.set("lb_serves_any", to: UInt8(servesAny ? 1 : 0))
        try object.load()
        program = try object.program(named: "udp_fanout_xdp")
        listeners = try object.map(named: "listeners")
        sockets = try object.map(named: "xsks")
        var known = lb_steer()
        withUnsafeMutableBytes(of: &known.mac) { $0.copyBytes(from: Self.mac) }
        known.longest = UInt16(longest)
        try object.map(named: "steer").set(UInt32(0), to: known)
        self.object = object
        network = try Network()
        let shape = "numrxqueues 2 numtxqueues 2"
        try network.ip("link add near \(shape) type veth peer name far \(shape)")
        try network.ip("link set near up")
        near = try network.enter { if_nametoindex("near") }
        let queue = InterfaceQueue(interface: near, queue: 0)
        try network.enter {
            let umem = try Umem(Umem.Shape(frames: 64, fillEntries: 64, completionEntries: 64))
            let made = try XDPSocket(on: queue, using: umem)
            try sockets.steer(queue: 0, to: made.descriptor)
            socket = consume made
        }
    }

    func closeSocket() { socket = nil }

    /// Makes the program steer datagrams to the endpoint, or to every address on its port.
    func serve(_ endpoint: Endpoint, any: Bool = false) throws {
        var key = lb_listener_key()
        if !any { key.address = endpoint.address.datapath }
        key.ifindex = near
        key.port = endpoint.port
        try listeners.set(key, to: UInt32(0))
    }

    /// The verdict on a frame that comes in by a queue of `near`.
    func verdict(_ frame: [UInt8], queue: UInt32 = 0) throws -> XDPVerdict? {
        var output = [UInt8](repeating: 0, count: frame.count)
        var context = xdp_md()
        context.data_end = UInt32(frame.count)
        context.ingress_ifindex = near
        context.rx_queue_index = queue
        var options = bpf_test_run_opts()
        options.sz = MemoryLayout<bpf_test_run_opts>.size
        options.repeat = 1
        options.data_size_in = UInt32(frame.count)
        options.data_size_out = UInt32(output.count)
        let descriptor = program.descriptor
        let result = try network.enter {
            frame.withUnsafeBytes { input in
                output.withUnsafeMutableBytes { room in
                    withUnsafeMutableBytes(of: &context) { context in
                        options.data_in = input.baseAddress
                        options.data_out = room.baseAddress
                        options.ctx_in = UnsafeRawPointer(context.baseAddress)
                        options.ctx_size_in = UInt32(context.count)
                        return bpf_prog_test_run_opts(descriptor, &options)
                    }
                }
            }
        }
        try #require(result == 0, "errno \(-result)")
        #expect(output == frame, "the packet was altered")
        return XDPVerdict(rawValue: options.retval)
    }
}
