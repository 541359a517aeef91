// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LabNet

extension Files {
    /// A full pipe: its read end, and the write end for a child.
    static func fullPipe() throws -> (reader: Int32, writer: Int32) {
        var pair: [Int32] = [0, 0]
        guard pipe(&pair) == 0 else { throw Failed("pipe") }
        for descriptor in pair { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(pair[1], F_SETFL, O_NONBLOCK)
        let filling = [UInt8](repeating: 10, count: 4096)
        while Glibc.write(pair[1], filling, filling.count) > 0 {}
        _ = fcntl(pair[1], F_SETFL, 0)
        return (pair[0], pair[1])
    }

    /// The daemon as it was built together with these tests.
    static let daemon = product("udp-fanout")
}
