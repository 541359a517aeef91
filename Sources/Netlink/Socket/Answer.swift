// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL

/// The answer to one request, put together from the messages that arrive (netlink(7)).
struct Answer {
    /// Of the request.
    let sequence: UInt32
    /// Of the socket that asked.
    let port: UInt32
    /// Whether a whole table was asked for.
    let isDump: Bool
    /// What came so far, in order.
    private(set) var messages: [NetlinkMessage] = []
    private var isConsistent = true

    init(sequence: UInt32, port: UInt32, isDump: Bool = false) {
        self.sequence = sequence
        self.port = port
        self.isDump = isDump
    }

    enum Progress: Equatable {
        /// The end has not come yet.
        case more
        case whole
        /// The end; but the table changed while the kernel went through it, so lines may be
        /// missing.
        case inconsistent
        /// The kernel's errno, above 0, and its sentence if it has one.
        case refused(Int32, String?)
    }

    mutating func take(_ message: NetlinkMessage) -> Progress {
        // What an abandoned request left behind has another number.
        guard message.sequence == sequence, message.port == port else { return .more }
        if message.flags & NLM_F_DUMP_INTR != 0 { isConsistent = false }
        switch message.type {
        case NLMSG_NOOP:
            return .more
        case NLMSG_DONE, NLMSG_ERROR:
            let (errno, detail) = message.outcome
            if errno != 0 { return .refused(errno, detail) }
        default:
            messages.append(message)
            // The family netdev leaves the flag out (Linux 6.18), but not the message that ends a table.
            if isDump || message.flags & NLM_F_MULTI != 0 { return .more }
        }
        return isConsistent ? .whole : .inconsistent
    }
}
