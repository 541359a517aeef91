// SPDX-License-Identifier: Apache-2.0

import CNet
import FanoutCore
import Glibc

/// The loop of a sink's thread: batches of datagrams into the record.
struct SinkReader {
    private static let batch = 64
    private static let room = 65_536

    private let descriptor: Int32
    private let record: SinkRecord

    init(_ descriptor: Int32, _ record: SinkRecord) {
        self.descriptor = descriptor
        self.record = record
    }

    func run() {
        let batch = DatagramBatch(messages: Self.batch, room: Self.room)
        defer { batch.free() }
        while true {
            let isEnding = record.isEnding
            let flags = isEnding ? CNET_DONT_WAIT : CNET_WAIT_FOR_ONE
            let count = cnet_receive_batch(
                descriptor, batch.messages, UInt32(Self.batch), Int32(flags | CNET_TRUNCATED))
            if count > 0 { take(batch, Int(count)) }
            // Interrupted, or nothing more to read.
            if isEnding, count <= 0 { return }
        }
    }

    private func take(_ batch: DatagramBatch, _ count: Int) {
        let now = ContinuousClock.now
        record.write { content in
            for index in 0..<count {
                let message = batch.messages + index
                defer { batch.rearm(index) }
                guard message.pointee.header.msg_namelen > 0 else { continue }
                let size = Int(message.pointee.length)
                content.count += 1
                content.bytes += UInt64(size)
                note(batch.payload(index), size, now, &content)
                if record.keepsPayloads {
                    let bytes = UnsafeRawBufferPointer(start: batch.payload(index), count: size)
                    content.datagrams.append(
                        Received(
                            payload: Array(bytes), source: Endpoint(native: batch.name(index))))
                }
            }
        }
    }

    private func note(
        _ base: UnsafeRawPointer, _ size: Int, _ now: ContinuousClock.Instant,
        _ content: inout SinkRecord.Content
    ) {
        switch Stamp.read(base, size: size) {
        case .stamp(let stamp):
            content.flows[stamp.flow, default: FlowTally()].note(stamp.sequence)
            if record.keepsTimes { content.arrivals.append(Arrival(stamp: stamp, read: now)) }
        case .damaged: content.damaged += 1
        case .foreign: break
        }
    }
}
