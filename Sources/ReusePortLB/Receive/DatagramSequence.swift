// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// The datagrams that arrive at a socket, read by a thread of the sequence's own.
///
/// A consumer that falls behind is waited for: a few batches are read ahead and no more, so that what
/// cannot be kept up with is lost in the kernel's queue, where ``ReusePortSocket/kernelDrops`` counts it.
/// When its task is cancelled, the sequence of a socket ends at once, and what was read ahead is dropped; that of
/// a ``Membership`` ends when everything has been delivered. It keeps the socket open.
public struct DatagramSequence: AsyncSequence, Sendable {
    public typealias Element = Datagram
    public typealias Failure = ReusePortError

    let socket: SocketHandle
    let plan: DatagramReader.Plan

    /// Each iterator reads with a thread of its own; two of them share out what arrives.
    public func makeAsyncIterator() -> Iterator { Iterator(socket, plan) }

    public struct Iterator: AsyncIteratorProtocol {
        private enum Source {
            case unopened(SocketHandle, DatagramReader.Plan)
            case open(DatagramThread)
            case ended
        }

        private var source: Source
        private var batch: [Datagram] = []
        private var position = 0
        private let endsAtOnce: Bool

        init(_ socket: SocketHandle, _ plan: DatagramReader.Plan) {
            endsAtOnce = plan.endsAtOnce
            source = .unopened(socket, plan)
        }

        /// - Throws: with the errno of recvmmsg(2), or `.noResources` when no thread can be had.
        public mutating func next() async throws(ReusePortError) -> Datagram? {
            try await next(isolation: nil)
        }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ReusePortError) -> Datagram? {
            while true {
                // A batch of many must not outlive the cancellation of its task.
                if endsAtOnce, Task.isCancelled { end() }
                if position < batch.count {
                    position += 1
                    return batch[position - 1]
                }
                switch source {
                case .ended:
                    return nil
                case .unopened(let socket, let plan):
                    source = .open(try DatagramThread(socket, plan))
                case .open(let thread):
                    switch await thread.reader.next() {
                    case .success(let more?): (batch, position) = (more, 0)
                    case .success(nil): end()
                    case .failure(let error):
                        end()
                        throw error
                    }
                }
            }
        }

        private mutating func end() {
            source = .ended
            (batch, position) = ([], 0)
        }
    }
}

extension ReusePortSocket {
    /// The datagrams that arrive here, as a sequence that ends at once when its task is cancelled: what was read
    /// ahead is then lost. ``Membership/datagrams(batch:maximumBytes:batchesAhead:)`` loses nothing.
    ///
    /// - Parameters:
    ///   - batch: datagrams read in one call, 1...1024.
    ///   - maximumBytes: 1...65535 of a datagram that are kept; a longer one is cut and marked.
    ///   - batchesAhead: 1... batches that are read before they are asked for.
    ///   - untilEmpty: ends when the queue is empty instead of waiting for more, also in a task that is
    ///     cancelled: for what is left after ``Membership/retire()``.
    public borrowing func datagrams(
        batch: Int = 64, maximumBytes: Int = 65_535, batchesAhead: Int = 4, untilEmpty: Bool = false
    ) -> DatagramSequence {
        DatagramSequence(
            socket: handle,
            plan: DatagramReader.Plan(
                batch: batch, maximumBytes: maximumBytes, ahead: max(batchesAhead, 1),
                untilEmpty: untilEmpty))
    }
}

extension Membership {
    /// The datagrams that arrive at the member's socket, as a sequence that loses none when its task is
    /// cancelled: the socket then retires from its slot (``retire()``), what is in its queue is delivered, and
    /// the sequence ends. UDP only. The slot is held until the sequence ends.
    ///
    /// - Parameters: as of ``ReusePortSocket/datagrams(batch:maximumBytes:batchesAhead:untilEmpty:)``.
    public borrowing func datagrams(
        batch: Int = 64, maximumBytes: Int = 65_535, batchesAhead: Int = 4
    ) -> DatagramSequence {
        DatagramSequence(
            socket: handle.socket,
            plan: DatagramReader.Plan(
                batch: batch, maximumBytes: maximumBytes, ahead: max(batchesAhead, 1), slot: handle)
        )
    }
}
