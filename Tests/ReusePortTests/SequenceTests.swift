// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("Sequences of datagrams")
    struct SequenceTests {}
}

extension ReusePortTests.SequenceTests {
    private static let reader = "datagrams"

    private static func ended() async throws {
        try await eventually("the readers' threads have ended") {
            Probe.threads(named: reader) == 0
        }
    }

    @Test(
        "datagrams arrive in order with bytes and sources, also empty ones; a long one is cut")
    func content() async throws {
        let socket = try ReusePortSocket(boundTo: try .free())
        let sender = try Traffic(to: try socket.bound)
        for payload in [[1, 2, 3], [], [UInt8](repeating: 7, count: 9)] { sender.send(payload) }
        var received: [Datagram] = []
        for try await batch in socket.datagrams(maximumBytes: 8) {
            received += batch
            if received.count == 3 { break }
        }
        #expect(
            received == [
                Datagram(bytes: [1, 2, 3], source: sender.source),
                Datagram(bytes: [], source: sender.source),
                Datagram(
                    bytes: [UInt8](repeating: 7, count: 8), source: sender.source, isTruncated: true
                ),
            ])
        try await Self.ended()
    }

    @Test("an IPv6 source is reported unchanged")
    func v6() async throws {
        let socket = try ReusePortSocket(boundTo: try .free(on: .loopback6))
        let sender = try Traffic(to: try socket.bound)
        sender.send([1])
        var iterator = socket.datagrams().makeAsyncIterator()
        #expect(try await iterator.next()?.first?.source == sender.source)
    }

    @Test(
        "the sequence waits for a consumer that stops; the kernel drops and counts the excess")
    func backPressure() async throws {
        let socket = try ReusePortSocket(boundTo: try .free(), receiveBuffer: 100_000)
        let sender = try Traffic(to: try socket.bound)
        var iterator = socket.datagrams(batch: 8, batchesAhead: 2).makeAsyncIterator()
        sender.send([0])
        _ = try await iterator.next()
        // Slow enough for a reader that does not stop.
        let sent = try await sender.run(rate: 4000, duration: .milliseconds(500)).datagrams
        let total = Int(sent)
        let lost = Int(socket.kernelDrops)
        #expect(lost > total / 2, "\(lost) of \(total)")
        var numbers: [UInt64] = []
        while numbers.count < total - lost, let batch = try await iterator.next() {
            // The sequence number in the stamp.
            numbers += batch.indices.map { index in
                batch.withBytes(index) {
                    $0.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self)
                }
            }
        }
        // All others are read in order, without duplicates.
        #expect(numbers.count + lost == total && numbers == numbers.sorted())
        #expect(Set(numbers).count == numbers.count)
        #expect(Int(socket.kernelDrops) == lost)
    }

    @Test("a cancelled task gets the end at once, while it waits and while it reads ahead")
    func cancellation() async throws {
        let socket = try ReusePortSocket(boundTo: try .free())
        let sequence = socket.datagrams()
        let waiting = Task {
            var count = 0
            for try await batch in sequence { count += batch.count }
            return count
        }
        try await eventually("the reader waits") { Probe.threads(named: Self.reader) == 1 }
        let begin = ContinuousClock.now
        waiting.cancel()
        #expect(try await waiting.value == 0)
        #expect(ContinuousClock.now - begin < .seconds(10))
        try await Self.ended()

        let sender = try Traffic(to: try socket.bound)
        for _ in 0..<100 { sender.send([1]) }
        let reading = Task {
            var iterator = sequence.makeAsyncIterator()
            _ = try await iterator.next()
            withUnsafeCurrentTask { $0?.cancel() }
            return try await iterator.next()
        }
        #expect(try await reading.value == nil)
        try await Self.ended()
    }

    @Test("a task that was cancelled before it began gets the end at once")
    func cancelledBefore() async throws {
        let socket = try ReusePortSocket(boundTo: try .free())
        let sequence = socket.datagrams()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for try await _ in sequence { return false }
            return true
        }
        #expect(try await task.value)
        try await Self.ended()
    }

    @Test("a sequence that has ended stays ended, and the socket can be read by another one")
    func again() async throws {
        let socket = try ReusePortSocket(boundTo: try .free())
        let sender = try Traffic(to: try socket.bound)
        for round in UInt8(0)..<20 {
            sender.send([round])
            let sequence = socket.datagrams()
            let task = Task {
                var iterator = sequence.makeAsyncIterator()
                let first = try await iterator.next()?.map(\.bytes)
                withUnsafeCurrentTask { $0?.cancel() }
                let more = [try await iterator.next(), try await iterator.next()]
                return (first, more.compactMap { $0 }.count)
            }
            let (first, more) = try await task.value
            #expect(first == [[round]] && more == 0)
        }
        try await Self.ended()
    }

    @Test("a sequence keeps its socket open when the value goes, and closes it in the end")
    func lifetime() async throws {
        let endpoint = try Endpoint.free()
        let sequence = try ReusePortSocket(boundTo: endpoint).datagrams()
        #expect(Probe.udpSockets(at: endpoint.port) == 1)
        let sender = try Traffic(to: endpoint)
        sender.send([9])
        func first() async throws -> DatagramBatch? {
            var iterator = sequence.makeAsyncIterator()
            return try await iterator.next()
        }
        #expect(try await first()?.map(\.bytes) == [[9]])
        try await Self.ended()
    }

    @Test("after wakeReceiver a sequence delivers what is queued and ends")
    func woken() async throws {
        let socket = try ReusePortSocket(boundTo: try .free())
        let sender = try Traffic(to: try socket.bound)
        let sequence = socket.datagrams()
        let count = Task {
            var count = 0
            for try await batch in sequence { count += batch.count }
            return count
        }
        try await eventually("the reader waits") { Probe.threads(named: Self.reader) == 1 }
        for _ in 0..<100 { sender.send([1]) }
        socket.wakeReceiver()
        #expect(try await count.value == 100)
        var again = sequence.makeAsyncIterator()
        #expect(try await again.next() == nil)
    }

    @Test("50 sequences leave no thread or descriptor behind, however they end")
    func leaks() async throws {
        let socket = try ReusePortSocket(boundTo: try .free())
        let sender = try Traffic(to: try socket.bound)
        let before = Probe.descriptors()
        for round in 0..<50 {
            let sequence = socket.datagrams()
            let task = Task { for try await _ in sequence { break } }
            if round % 2 == 0 { sender.send([1]) } else { task.cancel() }
            try await task.value
        }
        try await Self.ended()
        try await eventually("descriptors are as before") { Probe.descriptors() <= before }
    }

    @Test("draining leaves the slot and reads the queue to its end, also in a cancelled task")
    func draining() async throws {
        let group = try ReusePortGroup(private: GroupOptions(count: 2))
        let socket = try ReusePortSocket(boundTo: try .free())
        let membership = try group.join(socket, slot: 0)
        let sender = try Traffic(to: try socket.bound)
        for _ in 0..<150 { sender.send([1]) }
        let rest = membership.drain()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var count = 0
            for try await batch in rest { count += batch.count }
            return count
        }
        #expect(try await task.value == 150)
        #expect(try group.members() == [])
        // What comes later is no longer this socket's.
        sender.send([2])
        var batch = ReceiveBatch()
        #expect(try socket.receive(into: &batch, waits: false) == 0)
        for try await _ in membership.drain() { Issue.record("the queue is empty") }
    }

    @Test("a member's sequence that is cancelled retires, delivers what is queued, and ends")
    func retiring() async throws {
        let group = try ReusePortGroup(private: GroupOptions(count: 2))
        let socket = try ReusePortSocket(boundTo: try .free())
        let sequence = try group.join(socket, slot: 0).datagrams(batch: 8, batchesAhead: 1)
        #expect(try group.members().count == 1)
        let sender = try Traffic(to: try socket.bound)
        for _ in 0..<150 { sender.send([1]) }
        // It is cancelled while the reader pauses, with batches ahead and more in the queue.
        let task = Task {
            var iterator = sequence.makeAsyncIterator()
            var count = 0
            while let batch = try await iterator.next() {
                count += batch.count
                withUnsafeCurrentTask { $0?.cancel() }
            }
            let isOver = try await iterator.next() == nil
            return isOver ? count : -1
        }
        #expect(try await task.value == 150)
        #expect(try group.members() == [])
        try await Self.ended()
    }

    @Test("a member's sequence whose socket has left already ends when it is cancelled")
    func retiredBefore() async throws {
        let group = try ReusePortGroup(private: GroupOptions(count: 2))
        let socket = try ReusePortSocket(boundTo: try .free())
        let membership = try group.join(socket, slot: 0)
        let sequence = membership.datagrams()
        try membership.leave()
        let task = Task { for try await _ in sequence { Issue.record("nothing was sent") } }
        task.cancel()
        try await task.value
        try await Self.ended()
    }

    @Test("merged datagrams arrive as those that were sent, stamped and in order")
    func merged() async throws {
        let group = try ReusePortGroup(private: GroupOptions(count: 1))
        let socket = try ReusePortSocket(boundTo: try .free(), receiveBuffer: Sink.bufferBytes)
        try socket.prepare([.gro, .timestamps, .drops])
        let membership = try group.join(socket, slot: 0)
        let sender = try Traffic(to: try socket.bound)
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let before = UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
        for train in 0..<8 {
            let bytes = (0..<50).flatMap {
                [UInt8](repeating: UInt8(50 * train % 200 + $0), count: 64)
            }
            #expect(sender.sendSuperPacket(bytes, segment: 64) == 50)
        }
        var numbers: [UInt8] = []
        var most = 0
        for try await batch in membership.drain(batch: 4) {
            most = max(most, batch.count)
            for index in batch.indices {
                #expect(batch.length(index) == 64 && !batch.isTruncated(index))
                #expect(batch.source(index) == sender.source)
                #expect(batch.kernelDrops(index) == 0)
            }
            for datagram in batch {
                #expect(Set(datagram.bytes).count == 1)
                #expect(datagram.receivedNanoseconds.map { $0 >= before } == true)
                numbers.append(datagram.bytes[0])
            }
        }
        #expect(numbers == (0..<400).map { UInt8($0 % 200) })
        #expect(most == 200, "one call receives four trains")
        // The kernel's program saw each train as one packet.
        #expect(try group.counters(slot: 0).selected == 8)
    }

    @Test("batches that a consumer keeps are not overwritten")
    func kept() async throws {
        let socket = try ReusePortSocket(boundTo: try .free())
        let sender = try Traffic(to: try socket.bound)
        var iterator = socket.datagrams(batch: 1).makeAsyncIterator()
        var kept: [DatagramBatch] = []
        for number in UInt8(0)..<20 {
            sender.send([number])
            kept.append(try #require(try await iterator.next()))
        }
        #expect(kept.flatMap { $0.map(\.bytes) } == (0..<20).map { [$0] })
    }
}
