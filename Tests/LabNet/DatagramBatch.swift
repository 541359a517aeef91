// SPDX-License-Identifier: Apache-2.0

import CNet
import Glibc

/// Memory for one recvmmsg or sendmmsg: messages of one vector each, with room for a payload and a
/// name. Its owner frees it.
struct DatagramBatch {
    let count: Int
    let room: Int
    let messages: UnsafeMutablePointer<cnet_message>
    private let vectors: UnsafeMutablePointer<iovec>
    private let payloads: UnsafeMutableRawPointer
    private let names: UnsafeMutableRawPointer
    private let controls: UnsafeMutableRawPointer

    private static let nameBytes = MemoryLayout<sockaddr_in6>.size

    init(messages count: Int, room: Int) {
        self.count = count
        self.room = room
        messages = .allocate(capacity: count)
        vectors = .allocate(capacity: count)
        payloads = .allocate(byteCount: count * room, alignment: 4096)
        names = .allocate(byteCount: count * Self.nameBytes, alignment: 16)
        controls = .allocate(byteCount: count * CNET_SEND_CONTROL, alignment: 16)
        for index in 0..<count {
            vectors[index] = iovec(iov_base: payload(index), iov_len: room)
            var header = msghdr()
            header.msg_iov = vectors + index
            header.msg_iovlen = 1
            header.msg_name = names + index * Self.nameBytes
            header.msg_namelen = socklen_t(Self.nameBytes)
            messages[index] = cnet_message(header: header, length: 0)
        }
    }

    func free() {
        messages.deallocate()
        vectors.deallocate()
        payloads.deallocate()
        names.deallocate()
        controls.deallocate()
    }

    func payload(_ index: Int) -> UnsafeMutableRawPointer { payloads + index * room }

    func name(_ index: Int) -> UnsafeMutableRawPointer { names + index * Self.nameBytes }

    /// Restores the name buffer of a received message.
    func rearm(_ index: Int) { messages[index].header.msg_namelen = socklen_t(Self.nameBytes) }

    /// Makes message `index` one of `size` bytes to the peer of a connected socket, which the kernel splits into
    /// datagrams of `segment` bytes.
    func prepareToSend(_ index: Int, size: Int, segment: Int? = nil) {
        vectors[index].iov_len = size
        messages[index].header.msg_name = nil
        messages[index].header.msg_namelen = 0
        guard let segment else { return }
        let control = controls + index * CNET_SEND_CONTROL
        messages[index].header.msg_control = control
        messages[index].header.msg_controllen = cnet_write_segment(control, UInt16(segment))
    }
}
