// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import ReusePortLB
internal import Synchronization

/// The thread that reads the socket. Without a printer it allocates nothing for a datagram, except when the set of
/// sources grows.
final class ReceiveWorker: Sendable {
    /// Longest time to empty the queue after leaving the slot. When the group has no other member, the kernel keeps
    /// delivering datagrams, and this limit ends that.
    private static let drainingTime = Duration.seconds(2)

    private let outcome: AsyncStream<ReusePortError?>
    private let thread: Mutex<Thread?>

    /// Starts at once.
    ///
    /// - Parameters:
    ///   - limit: datagrams after which it ends; nil for none.
    ///   - printer: shows each datagram; nil for none.
    init(
        _ reception: Reception, _ tally: Tally, limit: UInt64?, maximumBytes: Int,
        printer: DatagramPrinter?
    ) throws {
        let (outcome, ending) = AsyncStream<ReusePortError?>.makeStream()
        self.outcome = outcome
        let loop = ReceiveLoop(
            reception: reception, tally: tally, limit: limit, maximumBytes: maximumBytes,
            printer: printer, drainingTime: Self.drainingTime)
        thread = Mutex(
            try Thread(name: "collector") {
                ending.yield(loop.run())
                ending.finish()
            })
    }

    /// Waits for the end: nil after an orderly one.
    func finish() async -> ReusePortError? {
        var end: ReusePortError?
        for await failure in outcome { end = failure }
        thread.withLock { $0.take() }?.join()
        return end
    }
}

/// What the thread does.
private struct ReceiveLoop: Sendable {
    /// A source address without its zone: 16 bytes, so that looking it up is cheap.
    private struct Source: Hashable {
        let high: UInt64
        let low: UInt64
    }

    let reception: Reception
    let tally: Tally
    let limit: UInt64?
    let maximumBytes: Int
    let printer: DatagramPrinter?
    let drainingTime: Duration

    /// - Returns: why the socket cannot be read any more; nil when it was stopped.
    func run() -> ReusePortError? {
        var batch = ReceiveBatch(maximumBytes: maximumBytes)
        var sources: Set<Source> = []
        var left = limit ?? .max
        var deadline: ContinuousClock.Instant?
        while left > 0 {
            do {
                try reception.socket.receive(
                    into: &batch, atMost: Int(clamping: left), waits: true)
            } catch {
                return error
            }
            if reception.isStopping {
                if batch.count == 0 { return nil }
                let end = deadline ?? ContinuousClock.now + drainingTime
                deadline = end
                if ContinuousClock.now > end { return nil }
            }
            left -= UInt64(batch.count)
            count(batch, &sources)
            if let printer, !printer.show(batch) {
                reception.stop()
                return nil
            }
        }
        return nil
    }

    private func count(_ batch: borrowing ReceiveBatch, _ sources: inout Set<Source>) {
        var bytes: UInt64 = 0
        var truncated: UInt64 = 0
        for index in 0..<batch.count {
            bytes += UInt64(batch.length(index))
            if batch.isTruncated(index) { truncated += 1 }
            if sources.count < Tally.sourcesMax {
                let address = batch.source(index).address
                sources.insert(Source(high: address.high, low: address.low))
            }
        }
        tally.received.wrappingAdd(UInt64(batch.count), ordering: .relaxed)
        tally.bytes.wrappingAdd(bytes, ordering: .relaxed)
        tally.truncated.wrappingAdd(truncated, ordering: .relaxed)
        tally.sources.store(sources.count, ordering: .relaxed)
    }
}
