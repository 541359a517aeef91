// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

extension ReusePortSocket {
    /// Reads what is in the socket's queue, in one recvmmsg(2). For a thread of one's own; a task should
    /// use ``datagrams(batch:maximumBytes:batchesAhead:untilEmpty:)``. Allocates nothing.
    ///
    /// - Parameters:
    ///   - batch: is overwritten.
    ///   - limit: datagrams to take at most; nil: as many as the batch has room for.
    ///   - waits: whether to wait for the first datagram. The wait ends with ``wakeReceiver()`` too.
    /// - Returns: how many came; 0 when the queue is empty or the wait was ended.
    /// - Throws: with the errno of recvmmsg(2); an interrupted call is made again.
    @discardableResult
    public borrowing func receive(
        into batch: inout ReceiveBatch, atMost limit: Int? = nil, waits: Bool = true
    ) throws(ReusePortError) -> Int {
        let code = handle.receive(into: &batch, atMost: limit, waits: waits)
        if code < 0 {
            let place = endpoint.map { "\($0)" } ?? "a socket"
            throw ReusePortError("receive at", place, errno: -code)
        }
        return batch.count
    }
}

extension SocketHandle {
    /// 0 and a count in the batch, or -errno.
    func receive(into batch: inout ReceiveBatch, atMost limit: Int?, waits: Bool) -> Int32 {
        let wanted = min(max(limit ?? batch.capacity, 1), batch.capacity)
        let flags = (waits ? CNET_WAIT_FOR_ONE : CNET_DONT_WAIT) | CNET_TRUNCATED
        while true {
            batch.rearm(wanted)
            // SAFETY: `wanted` is within the batch, whose messages lead to memory that it owns.
            let result = unsafe cnet_receive_batch(
                descriptor, batch.messages, UInt32(wanted), Int32(flags))
            if result == -EINTR { continue }
            if result == -EAGAIN { return 0 }
            guard result >= 0 else { return result }
            batch.count = Int(result)
            // A call that wakeReceiver() ended reports one message from nobody.
            if result == 1, unsafe batch.messages[0].header.msg_namelen == 0 { batch.count = 0 }
            return 0
        }
    }
}
