// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// The datagrams that arrive at a socket, read by a thread of the sequence.
///
/// The sequence waits for a slow consumer: it reads only a few batches ahead, so the kernel's queue drops the excess,
/// and ``ReusePortSocket/kernelDrops`` counts it. When its task is cancelled, the sequence of a socket ends at once and
/// drops what was read ahead; that of a ``Membership`` ends when everything has been delivered. It keeps the socket
/// open.
public struct DatagramSequence: AsyncSequence, Sendable {
    public typealias Element = Datagram
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
        private var batch: [Datagram] = []
        private var position = 0
        private let endsAtOnce: Bool

        init(_ socket: SocketHandle, _ plan: DatagramReader.Plan) {
            endsAtOnce = plan.endsAtOnce
            source = .unopened(socket, plan)
        }

        /// - Throws: with the errno of recvmmsg(2), or `.noResources` when no thread can be started.
        public mutating func next() async throws(ReusePortError) -> Datagram? {
            try await next(isolation: nil)
        }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(ReusePortError) -> Datagram? {
            while true {
                // Cancellation must not wait for the rest of a batch.
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
    /// The datagrams that arrive here, as a sequence that ends at once when its task is cancelled and loses what was
    /// read ahead. ``Membership/datagrams(batch:maximumBytes:batchesAhead:)`` loses nothing.
    ///
    /// - Parameters:
    ///   - batch: datagrams read in one call, 1...1024.
    ///   - maximumBytes: bytes kept of a datagram, 1...65535; a longer one is cut and marked.
    ///   - batchesAhead: batches that are read before they are requested, at least 1.
    ///   - untilEmpty: ends when the queue is empty instead of waiting for more, also in a cancelled task: for the rest
    ///     of the queue after ``Membership/retire()``.
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
    /// The datagrams that arrive at the member's socket, as a sequence that loses none when its task is cancelled: the
    /// socket then retires from its slot (``retire()``), the sequence delivers the queue and ends. It does the same half
    /// a second after another member has replaced this one. UDP only. The slot is held until the sequence ends.
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
