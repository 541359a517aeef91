// SPDX-License-Identifier: Apache-2.0

import CLibXDP
@testable import XDPSockets

/// The memory of one ring in the kernel's layout, in this process, with access to both ends. It must outlive them.
final class RingMemory<Entry: BitwiseCopyable> {
    let size: UInt32
    /// The producer's and consumer's indexes, and the word with the kernel's flags.
    let producer = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
    let consumer = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
    let flags = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)
    let entries: UnsafeMutablePointer<Entry>

    /// - Parameter start: the number of the first entry.
    init(size: UInt32, of blank: Entry, start: UInt32 = 0) {
        self.size = size
        producer.initialize(to: start)
        consumer.initialize(to: start)
        flags.initialize(to: 0)
        entries = .allocate(capacity: Int(size))
        entries.initialize(repeating: blank, count: Int(size))
    }

    deinit {
        producer.deallocate()
        consumer.deallocate()
        flags.deallocate()
        entries.deallocate()
    }

    /// The state of a producing ring.
    func producing() -> UnsafeMutablePointer<xsk_ring_prod> {
        let ring = UnsafeMutablePointer<xsk_ring_prod>.allocate(capacity: 1)
        ring.initialize(
            to: xsk_ring_prod(
                cached_prod: producer.pointee, cached_cons: consumer.pointee &+ size,
                mask: size - 1,
                size: size, producer: producer, consumer: consumer, ring: entries, flags: flags))
        return ring
    }

    /// The state of a consuming ring.
    func consuming() -> UnsafeMutablePointer<xsk_ring_cons> {
        let ring = UnsafeMutablePointer<xsk_ring_cons>.allocate(capacity: 1)
        ring.initialize(
            to: xsk_ring_cons(
                cached_prod: producer.pointee, cached_cons: consumer.pointee, mask: size - 1,
                size: size, producer: producer, consumer: consumer, ring: entries, flags: flags))
        return ring
    }

    // MARK: A second implementation of an end, which shares no code with the rings

    var isFull: Bool { producer.pointee &- consumer.pointee == size }

    func put(_ entry: Entry) {
        entries[Int(producer.pointee % size)] = entry
        producer.pointee &+= 1
    }

    func next() -> Entry? {
        guard producer.pointee != consumer.pointee else { return nil }
        defer { consumer.pointee &+= 1 }
        return entries[Int(consumer.pointee % size)]
    }
}
