// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// The datagrams that arrive at a socket, in batches, read by a thread of the sequence.
///
/// ```swift
/// for try await batch in socket.datagrams() {
///     for datagram in batch { store(datagram) }
/// }
/// ```
///
/// The sequence waits for a slow consumer: it reads only a few batches ahead, so the kernel's queue drops the excess,
/// and ``ReusePortSocket/kernelDrops`` counts it. When its task is cancelled, the sequence of a socket ends at once and
/// drops what was read ahead; that of a ``Membership`` ends when everything has been delivered. It keeps the socket
/// open.
public struct DatagramSequence: AsyncSequence, Sendable {
    public typealias Element = DatagramBatch
    public typealias Failure = ReusePortError

    let socket: SocketHandle
    let plan: DatagramReader.Plan

    /// Each iterator reads with its own thread; two iterators share the datagrams.
    public func makeAsyncIterator() -> Iterator { Iterator(socket, plan) }

    public struct Iterator: AsyncIteratorProtocol {
        private enum Source {
            case unopened(SocketHandle, DatagramReader.Plan)
            case open(DatagramThread)
            case ended
        }

        private var source: Source

        init(_ socket: SocketHandle, _ plan: DatagramReader.Plan) {
            source = .unopened(socket, plan)
        }

        /// - Throws: with the errno of recvmmsg(2), or `.noResources` when no thread can be started.
        public mutating func next() async throws(ReusePortError) -> DatagramBatch? {
            try await next(isolation: nil)
        }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ReusePortError) -> DatagramBatch? {
            if case .unopened(let socket, let plan) = source {
                source = .open(try DatagramThread(socket, plan))
            }
            guard case .open(let thread) = source else { return nil }
            let outcome = await thread.reader.next()
            if case .success(let batch?) = outcome { return batch }
            source = .ended
            return try outcome.get()
        }
    }
}

extension ReusePortSocket {
    /// The datagrams that arrive here, as a sequence that ends at once when its task is cancelled and loses what was
    /// read ahead. ``Membership/datagrams(batch:maximumBytes:batchesAhead:)`` loses nothing.
    ///
    /// - Parameters:
    ///   - batch: datagrams, or packets that the kernel has merged, read in one call, 1...1024.
    ///   - maximumBytes: bytes kept of a datagram, 1...65535; a longer one is cut and marked.
    ///   - batchesAhead: batches that are read before they are requested, at least 1.
    public borrowing func datagrams(
        batch: Int = 64, maximumBytes: Int = 65_535, batchesAhead: Int = 4
    ) -> DatagramSequence {
        DatagramSequence(
            socket: handle,
            plan: DatagramReader.Plan(
                batch: batch, maximumBytes: maximumBytes, ahead: max(batchesAhead, 1)))
    }
}

extension Membership {
    /// The datagrams that arrive at the member's socket, as a sequence that loses none when its task is cancelled: the
    /// socket then retires from its slot (``retire()``), the sequence delivers the queue and ends. It does the same half
    /// a second after another member has replaced this one. UDP only. The slot is held until the sequence ends.
    ///
    /// - Parameters: as of ``ReusePortSocket/datagrams(batch:maximumBytes:batchesAhead:)``.
    public borrowing func datagrams(
        batch: Int = 64, maximumBytes: Int = 65_535, batchesAhead: Int = 4
    ) -> DatagramSequence {
        DatagramSequence(
            socket: handle.socket,
            plan: DatagramReader.Plan(
                batch: batch, maximumBytes: maximumBytes, ahead: max(batchesAhead, 1), slot: handle)
        )
    }

    /// Leaves the slot, and returns what waits in the socket's queue, as a sequence that loses none and then ends, also
    /// in a cancelled task. UDP only. Do nothing else to read the socket meanwhile.
    ///
    /// ```swift
    /// for try await batch in membership.drain() { store(batch) }
    /// ```
    ///
    /// - Parameters: as of ``ReusePortSocket/datagrams(batch:maximumBytes:batchesAhead:)``.
    public borrowing func drain(
        batch: Int = 64, maximumBytes: Int = 65_535
    ) -> DatagramSequence {
        DatagramSequence(
            socket: handle.socket,
            plan: DatagramReader.Plan(
                batch: batch, maximumBytes: maximumBytes, ahead: 4, slot: handle, drains: true))
    }
}
