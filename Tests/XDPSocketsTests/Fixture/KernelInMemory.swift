// SPDX-License-Identifier: Apache-2.0

import CLibXDP
import FanoutCore
@testable import XDPSockets

/// The four rings of a socket without the socket, and the kernel's side of them.
final class KernelInMemory {
    let fill: RingMemory<UInt64>
    let completion: RingMemory<UInt64>
    let receive: RingMemory<xdp_desc>
    let transmit: RingMemory<xdp_desc>
    /// Frames that it took for receiving and sending.
    var empty: [UInt64] = []
    var sending: [UInt64] = []

    init(entries: UInt32, start: UInt32 = 0) {
        let blank = xdp_desc(addr: 0, len: 0, options: 0)
        fill = RingMemory(size: entries, of: 0, start: start)
        completion = RingMemory(size: entries, of: 0, start: start)
        receive = RingMemory(size: entries, of: blank, start: start)
        transmit = RingMemory(size: entries, of: blank, start: start)
    }

    /// Takes frames out of the fill ring.
    func takeEmpty(_ most: Int) {
        for _ in 0..<most {
            guard let address = fill.next() else { return }
            empty.append(address)
        }
    }

    /// Receives packets at an offset in their frames, as long as there are frames and room.
    func deliver(_ most: Int, headroom: UInt64 = 256) {
        for _ in 0..<most where !empty.isEmpty && !receive.isFull {
            receive.put(xdp_desc(addr: empty.removeLast() + headroom, len: 60, options: 0))
        }
    }

    func takePackets(_ most: Int) {
        for _ in 0..<most {
            guard let packet = transmit.next() else { return }
            sending.append(packet.addr)
        }
    }

    func complete(_ most: Int) {
        for _ in 0..<most where !sending.isEmpty && !completion.isFull {
            completion.put(sending.removeFirst())
        }
    }
}

/// The worker's ends of the rings of a `KernelInMemory`, with a frame store.
final class WorkerInMemory {
    var store: FrameStore
    var fill: FillRing
    var completion: CompletionRing
    var receive: ReceiveRing
    var transmit: TransmitRing

    init(_ kernel: KernelInMemory, frames: Int, frameBytes: Int = 2048) {
        store = FrameStore(frames: frames, frameBytes: frameBytes)
        fill = FillRing(owning: kernel.fill.producing(), socket: 0)
        completion = CompletionRing(owning: kernel.completion.consuming(), socket: 0)
        receive = ReceiveRing(owning: kernel.receive.consuming(), socket: 0)
        transmit = TransmitRing(owning: kernel.transmit.producing(), socket: 0)
    }

    var census: FrameCensus {
        var census = store.census()
        census.add(
            FrameCensus.Share(
                receiving: store.count(at: .receiving(0)),
                transmitting: store.count(at: .transmitting(0)), fill: fill.waiting,
                receive: receive.waiting, transmit: transmit.waiting,
                completion: completion.waiting))
        return census
    }

    // The store's functions, in a form that test macros can call.

    func take() -> UInt64? { store.take() }

    func put(_ address: UInt64) -> Bool { store.put(address) }

    func append(_ packet: Packet) -> TransmitRing.Appended { transmit.append(packet, of: &store) }

    /// The packets in the receive ring.
    func takePackets(upTo most: UInt32 = .max) -> [Packet] {
        let range = receive.take(upTo: most, of: &store)
        defer { receive.release(range) }
        return (0..<range.count).map { receive.packet(at: range[$0]) }
    }
}
