// SPDX-License-Identifier: Apache-2.0

import CNet

/// A message of a unix socket with its descriptors, which the receiver must close.
public struct Message: Sendable {
    public let text: String
    public let descriptors: [Int32]

    /// The next message of a non-blocking socket; nil when there is none.
    public static func next(at socket: Int32) -> Message? {
        guard cnet_wait_readable(socket, 0) > 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4096)
        var descriptors = [Int32](repeating: -1, count: Int(CNET_DESCRIPTORS_MAX))
        var count: UInt32 = 0
        let received = cnet_receive_descriptors(
            socket, &bytes, bytes.count, &descriptors, &count)
        guard received > 0 else { return nil }
        return Message(
            text: String(decoding: bytes.prefix(Int(received)), as: UTF8.self),
            descriptors: Array(descriptors.prefix(Int(count))))
    }
}
