// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A map of AF_XDP sockets (BPF_MAP_TYPE_XSKMAP), by the number of their queue. A socket that is closed
/// leaves it by itself; what is in it cannot be read.
extension BPFMap {
    /// Has the packets that a program redirects to an entry come to a socket.
    ///
    /// - Parameters:
    ///   - socket: the descriptor of an AF_XDP socket that is bound to this queue; packets of another
    ///     queue or interface would be lost.
    ///   - queue: below `entries`.
    /// - Throws: `BPFError`: EOPNOTSUPP for a descriptor of something else, E2BIG for a queue that the
    ///   map has no room for.
    public borrowing func lead(queue: UInt32, to socket: Int32) throws(BPFError) {
        var (key, value) = (queue, socket)
        // SAFETY: both have the sizes that such a map has by definition (kernel/bpf/xskmap.c).
        let result = unsafe bpf_map_update_elem(descriptor, &key, &value, UInt64(BPF_ANY))
        guard result == 0 else {
            throw BPFError(
                operation: "lead queue \(queue) to a socket in", subject: subject, errno: -result,
                remedy: result == -E2BIG
                    ? "the map has room for \(entries) queues"
                    : "give the descriptor of an AF_XDP socket")
        }
    }
}
