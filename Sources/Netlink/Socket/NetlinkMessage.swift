// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL

/// One message as the kernel sent it, without its header `nlmsghdr`.
struct NetlinkMessage {
    /// RTM_* or NLMSG_*.
    let type: Int32
    /// NLM_F_*.
    let flags: Int32
    /// Of the request that it answers; 0 in a notification.
    let sequence: UInt32
    /// Of the socket that asked; 0 in a notification.
    let port: UInt32
    let body: [UInt8]

    /// The fixed header of this type of message, such as `ifinfomsg`, and the attributes behind it;
    /// nil when the message is shorter than that.
    func parts<Header: BitwiseCopyable>(_ type: Header.Type) -> (Header, Attributes)? {
        guard let header = body.read(type) else { return nil }
        return (header, Attributes(in: body, behind: MemoryLayout<Header>.size))
    }

    /// What NLMSG_ERROR, or NLMSG_DONE at the end of a dump, says: an errno above 0, or 0 when all
    /// is well, and the kernel's sentence (linux/netlink.h, `nlmsgerr`).
    var outcome: (errno: Int32, detail: String?) {
        let code = -(body.read(Int32.self) ?? 0)
        guard flags & NLM_F_ACK_TLVS != 0 else { return (code, nil) }
        var behind = MemoryLayout<Int32>.size
        if type == NLMSG_ERROR {
            // The request comes back behind the code: its header alone, or all of it.
            let request = body.read(nlmsghdr.self, at: behind)
            let isCapped = flags & NLM_F_CAPPED != 0
            behind += isCapped ? MemoryLayout<nlmsghdr>.size : Int(request?.nlmsg_len ?? 0)
        }
        let attributes = Attributes(in: body, behind: behind)
        return (code, attributes.text(Int(NLMSGERR_ATTR_MSG.rawValue)))
    }
}
