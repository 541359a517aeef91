// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CNet
internal import FanoutCore
internal import LinuxNet
internal import XDPSockets

// The life of a datagram in mode `af_xdp`, from where bpf/xdp_steer.bpf.c has put it into a frame:
//
//   receive   up to 64 packets from the ring; their frames are the worker's now
//   parse     headers, in place (lb/packet.h)
//   listener  by destination address and port
//   key       counter, random number, hash of the source or of the four-tuple
//   slot      slots[key mod n] names the receiver
//   rewrite   in place: Ethernet header, destination, TTL, checksums (lb/frame.h)
//   send      the frame goes into the transmit ring of the interface that leads to the receiver, and
//             comes back by the completion ring; a raw socket takes what no such ring leads to
//   count     forwarded, or one drop reason, for the receiver and for the listener
//   refill    frames that came back go to the kernel again, to receive into
//
// Every path ends in exactly one count, and every frame in exactly one place. Nothing here allocates or
// locks; the compiler proves it.

/// The loop of one thread over one receive queue.
@safe struct AFXDPWorker: ~Copyable, WorkerLoop {
    /// Packets that one look at the ring takes.
    static var batch: UInt32 {
        @_noLocks @_noAllocation @inline(__always)
        get { 64 }
    }

    var store: FrameStore
    // SAFETY: the plane keeps sockets, table and memory until this worker has let go of them.
    let ingress: UnsafeMutablePointer<XDPSocket>
    var table: UnsafeMutablePointer<WorkerTable>
    /// The first byte of the frames.
    let base: UnsafeMutableRawPointer
    /// Frames lent to receive into, at most: the rest is for what is being sent.
    let fillTarget: UInt32
    let polling: Polling
    let mailbox: WorkerMailbox<AFXDPWorker>
    let counts: QueueRow
    let batches: BatchCount
    var fallback: FallbackBatch
    /// State of the generator of `randomNumber`, never 0.
    var random: UInt64
    var isEnding = false

    /// How the worker learns of packets.
    enum Polling { case sleeping, busy }

    /// Runs until the plane ends it.
    mutating func run() {
        refill(.max)
        while !isEnding {
            if !mailbox.isEmpty { mailbox.run(on: &self) }
            if turnOnce() == 0 { rest() }
        }
    }

    /// One batch: how many packets it had.
    @discardableResult
    @_noLocks @_noAllocation
    mutating func turnOnce() -> UInt32 {
        let range = unsafe ingress.pointee.receive.take(upTo: Self.batch, of: &store)
        guard range.count > 0 else {
            counts.add(1, at: .receiveRingEmpty)
            return 0
        }
        batches.step()
        var offset: UInt32 = 0
        while offset < range.count {
            let packet = unsafe ingress.pointee.receive.packet(at: range[offset])
            if offset &+ 1 < range.count {
                let next = unsafe ingress.pointee.receive.packet(at: range[offset &+ 1])
                unsafe cnet_prefetch(base + Int(truncatingIfNeeded: next.address))
            }
            admit(packet)
            offset &+= 1
        }
        unsafe ingress.pointee.receive.release(range)
        sendFallback()
        transmit()
        refill(range.count)
        batches.step()
        return range.count
    }

    /// Hands frames to the kernel to receive into: as many as it lacks.
    @_noLocks @_noAllocation
    mutating func refill(_ wanted: UInt32) {
        let lent = unsafe ingress.pointee.fill.waiting
        let room = Int(fillTarget) &- lent
        guard room > 0 else { return }
        let given = unsafe ingress.pointee.fill.refill(
            from: &store, most: UInt32(truncatingIfNeeded: room))
        if Int(given) < min(room, Int(wanted)) {
            counts.add(1, at: store.free == 0 ? .framesExhausted : .fillRingFull)
        }
    }

    /// Waits for packets, commands, or for the kernel to take what it would not take before.
    private mutating func rest() {
        let isOwing = transmit()
        refill(.max)
        if polling == .busy {
            _ = unsafe ingress.pointee.wakeReceiver()
            return
        }
        let milliseconds: Int32 = isOwing ? 1 : 1000
        let end = unsafe ingress.pointee.awaitPackets(milliseconds: milliseconds)
        // Until the plane has taken the interface away, or it is up again.
        if end == .failed { cnet_pause(1000) }
    }
}
