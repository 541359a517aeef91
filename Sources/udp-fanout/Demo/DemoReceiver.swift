// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import Synchronization

/// One of the demo's receivers: a socket on loopback and a thread that counts what arrives.
final class DemoReceiver: Sendable {
    let downstream: Downstream
    private let socket: Socket
    private let ending = Atomic<Bool>(false)
    private let datagrams = Atomic<UInt64>(0)

    var received: UInt64 { datagrams.load(ordering: .relaxed) }

    init(name: String) throws(SystemError) {
        let anyPort = Endpoint(IPAddress(v4: 0x7f00_0001), port: 0)
        socket = try Socket.listening(on: anyPort, sharing: .exclusive)
        let endpoint = Endpoint(anyPort.address, port: try socket.boundPort)
        downstream = Downstream(name: name, endpoint: endpoint)
    }

    /// Counts until `stop`.
    func start() throws(SystemError) -> Thread {
        try Thread(name: downstream.name) { self.run() }
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while !ending.load(ordering: .acquiring) {
            guard let length = socket.receive(into: &buffer) else { return }
            // Every datagram of the demo has a payload; none means that the wait was ended.
            if length > 0 { datagrams.wrappingAdd(1, ordering: .relaxed) }
        }
    }

    func stop() {
        ending.store(true, ordering: .releasing)
        socket.wakeReceiver()
    }
}
