// SPDX-License-Identifier: Apache-2.0

/// Datagrams that a ``DatagramSequence`` received together.
///
/// As a collection it copies each datagram; ``withBytes(_:_:)`` and the other functions with an index copy nothing. The
/// memory is used again when all copies of this value are gone, so do not keep many.
public struct DatagramBatch: RandomAccessCollection, Sendable {
    let memory: BatchMemory

    public var startIndex: Int { 0 }
    public var endIndex: Int { memory.batch.count }

    /// A copy of a datagram.
    public subscript(position: Int) -> Datagram { memory.batch.datagram(position) }

    /// As ``ReceiveBatch/source(_:)``.
    public func source(_ index: Int) -> Endpoint { memory.batch.source(index) }
    /// As ``ReceiveBatch/length(_:)``.
    public func length(_ index: Int) -> Int { memory.batch.length(index) }
    /// As ``ReceiveBatch/isTruncated(_:)``.
    public func isTruncated(_ index: Int) -> Bool { memory.batch.isTruncated(index) }
    /// As ``ReceiveBatch/receivedNanoseconds(_:)``.
    public func receivedNanoseconds(_ index: Int) -> UInt64? {
        memory.batch.receivedNanoseconds(index)
    }
    /// As ``ReceiveBatch/kernelDrops(_:)``.
    public func kernelDrops(_ index: Int) -> UInt32 { memory.batch.kernelDrops(index) }
    /// As ``ReceiveBatch/withBytes(_:_:)``.
    public func withBytes<Result>(_ index: Int, _ body: (RawSpan) -> Result) -> Result {
        memory.batch.withBytes(index, body)
    }
}

/// The memory of a batch. The reader's thread alone writes, while no ``DatagramBatch`` refers to it.
final class BatchMemory: @unchecked Sendable {
    var batch: ReceiveBatch

    init(_ plan: DatagramReader.Plan) {
        batch = ReceiveBatch(capacity: plan.batch, maximumBytes: plan.maximumBytes)
    }
}

/// The memories of one reader.
struct BatchPool {
    private let plan: DatagramReader.Plan
    private var memories: [BatchMemory] = []

    init(_ plan: DatagramReader.Plan) { self.plan = plan }

    /// A memory that nothing else refers to, if possible the last one, whose content is in the processor's cache.
    mutating func free() -> BatchMemory {
        for index in memories.indices where isKnownUniquelyReferenced(&memories[index]) {
            return memories[index]
        }
        let memory = BatchMemory(plan)
        memories.append(memory)
        return memory
    }
}
