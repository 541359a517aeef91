// SPDX-License-Identifier: Apache-2.0

import Foundation
import FanoutCore
import FanoutControl
import Glibc
import LabNet
import LinuxNet
import Synchronization
import Testing
import Tiers

/// One thread that gives life to a thousand targets.
final class Field: Sendable {
    let targets: [ProbeTarget]
    private let ending = Atomic(false)
    private let poller: Poller
    private let thread = Mutex<LinuxNet.Thread?>(nil)

    init(_ kind: ProbeKind, count: UInt32) throws {
        let poller = try Poller()
        self.poller = poller
        var sockets: [Box] = []
        switch kind {
        case .icmp:
            // The kernel itself answers for all of 127.0.0.0/8.
            targets = (1...count).map { ProbeTarget(.icmp, Endpoint(.loopback($0 + 255), port: 1)) }
        case .tcp:
            let box = Box(try Socket.boundStream(on: Endpoint(.any, port: 0)))
            guard listen(box.socket.descriptor, 1024) == 0 else { throw Failed("listen") }
            try poller.add(box.socket, for: .reading, token: 0)
            let port = try box.socket.boundPort
            targets = (1...count).map {
                ProbeTarget(.tcp, Endpoint(.loopback($0 + 255), port: port))
            }
            sockets = [box]
        case .udp, .udpEcho:
            sockets = try (0..<count).map { _ in
                Box(try Socket.listening(on: Endpoint(.loopback, port: 0), sharing: .exclusive))
            }
            for (index, box) in sockets.enumerated() {
                try poller.add(box.socket, for: .reading, token: UInt64(index))
            }
            targets = try sockets.map {
                ProbeTarget(kind, Endpoint(.loopback, port: try $0.socket.boundPort))
            }
        }
        try thread.withLock { [sockets] in
            $0 = try LinuxNet.Thread(name: "field") { [unowned self] in
                run(sockets, accepts: kind == .tcp)
            }
        }
    }

    deinit {
        ending.store(true, ordering: .releasing)
        poller.wake()
        thread.withLock { $0.take() }?.join()
    }

    private func run(_ sockets: [Box], accepts: Bool) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while !ending.load(ordering: .acquiring) {
            for token in poller.wait(milliseconds: 100) where token < UInt64(sockets.count) {
                let descriptor = sockets[Int(token)].socket.descriptor
                if accepts {
                    let connection = accept(descriptor, nil, nil)
                    if connection >= 0 { close(connection) }
                    continue
                }
                var name = sockaddr()
                var size = socklen_t(MemoryLayout<sockaddr>.size)
                let count = recvfrom(descriptor, &buffer, buffer.count, 0, &name, &size)
                if count > 0 { sendto(descriptor, buffer, count, 0, &name, size) }
            }
        }
    }

    final class Box: Sendable {
        let socket: Socket
        init(_ socket: consuming Socket) { self.socket = socket }
    }
}

@Suite("The cost of probing", .tags(.load), .serialized)
struct CostTests {
    /// What is promised is of an optimised build; the compiler's checks of the other take as much again on
    /// a machine that is busy.
    #if DEBUG
        private static let mostShare = 0.15
    #else
        private static let mostShare = 0.05
    #endif

    /// Nanoseconds that threads of this process called `health` have run (proc(5), schedstat).
    private func cpuTime() throws -> Int64 {
        var sum: Int64 = 0
        for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
            let folder = "/proc/self/task/\(task)/"
            guard let name = try? String(contentsOfFile: folder + "comm", encoding: .utf8),
                name == "health\n",
                let text = try? String(contentsOfFile: folder + "schedstat", encoding: .utf8)
            else { continue }
            sum += Int64(text.prefix { $0 != " " }) ?? 0
        }
        return sum
    }

    @Test(
        "1 000 targets are probed within one interval, and the thread takes a few % of a CPU",
        arguments: ProbeKind.allCases)
    func thousand(kind: ProbeKind) async throws {
        ThisProcess.raiseOpenFiles()
        let (watch, field) = (Watch(), try Field(kind, count: 1000))
        let interval = Duration.seconds(5)
        try watch.follow(field.targets, interval: interval, timeout: .seconds(2))
        let (begin, before) = (ContinuousClock.now, try cpuTime())
        // Silence or not, an answer of `udp` comes at once here.
        try await eventually(within: .seconds(8), "everybody has been probed") {
            Set(watch.reports.map(\.target)).count == 1000
        }
        try await eventually("the interval is over") { ContinuousClock.now - begin >= interval }
        let time = ContinuousClock.now - begin
        #expect(time < interval + .seconds(1))
        let share = Double(try cpuTime() - before) / Double(time / .nanoseconds(1))
        print("\(kind.rawValue): \(watch.reports.count) probes, \(share * 100) % of a CPU")
        #expect(share <= Self.mostShare)
        try await eventually("they are probed again") { watch.reports.count >= 1100 }
        #expect(watch.reports.allSatisfy { $0.result == .success })
    }
}
