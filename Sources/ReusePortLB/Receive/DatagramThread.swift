// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// The thread of one iterator, which ends with it. Signals are blocked in it.
final class DatagramThread {
    let reader: DatagramReader
    private let handle: UInt

    init(_ socket: SocketHandle, _ plan: DatagramReader.Plan) throws(ReusePortError) {
        reader = try DatagramReader(socket, plan)
        var handle: UInt = 0
        let box = unsafe Unmanaged.passRetained(reader)
        // SAFETY: the reader is retained above; the thread takes that reference, or we do on failure.
        let result = unsafe cnet_thread_start(
            &handle, 256 << 10, "datagrams",
            { argument in
                guard let argument = unsafe argument else { return }
                unsafe Unmanaged<DatagramReader>.fromOpaque(argument).takeRetainedValue().run()
            }, box.toOpaque())
        if result < 0 {
            unsafe box.release()
            throw ReusePortError("start", "the thread that reads a socket", errno: -result)
        }
        self.handle = handle
    }

    /// The thread is not in a call that waits for anything but its wake line, so this takes no longer than
    /// copying a batch.
    deinit {
        reader.end(dropping: true)
        _ = cnet_thread_join(handle)
    }
}
