// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import Synchronization

/// The demo's traffic: a steady rate of datagrams, round robin from 32 source addresses.
final class DemoSender: Sendable {
    private let sources: [Source]
    private let rate: Int
    private let ending = Atomic<Bool>(false)
    private let datagrams = Atomic<UInt64>(0)

    private final class Source: Sendable {
        let socket: Socket
        init(_ socket: consuming Socket) { self.socket = socket }
    }

    var sent: UInt64 { datagrams.load(ordering: .relaxed) }

    /// - Parameter rate: datagrams a second, at least 1.
    init(to listener: Endpoint, rate: Int) throws(SystemError) {
        self.rate = rate
        var sources: [Source] = []
        // All of 127.0.0.0/8 is this host, so any user may send from it.
        for host in UInt32(1)...32 {
            let address = IPAddress(v4: 0x7f00_0000 + host)
            let socket = try Socket.listening(
                on: Endpoint(address, port: 0), sharing: .exclusive)
            try socket.connect(to: listener)
            sources.append(Source(socket))
        }
        self.sources = sources
    }

    /// Sends until `stop`, in small bursts where the rate is above 1000 a second.
    func start() throws(SystemError) -> Thread {
        try Thread(name: "sender") { self.run() }
    }

    private func run() {
        let clock = ContinuousClock()
        let begin = clock.now
        var number = 0
        while !ending.load(ordering: .acquiring) {
            let due = Int((clock.now - begin) / .milliseconds(1)) * rate / 1000
            while number < due {
                let payload = Array("datagram \(number) of the demo".utf8)
                if sources[number % sources.count].socket.send(payload) {
                    datagrams.wrappingAdd(1, ordering: .relaxed)
                }
                number += 1
            }
            Pause.milliseconds(1)
        }
    }

    func stop() { ending.store(true, ordering: .releasing) }
}
