// SPDX-License-Identifier: Apache-2.0

package import CDatapath
internal import Glibc

/// The drop reason of a send's errno.
@_noLocks @_noAllocation
package func dropReason(ofSend code: Int32) -> lb_drop_reason {
    switch code {
    case EAGAIN: LB_DROP_WOULD_BLOCK
    case ENOBUFS, ENOMEM: LB_DROP_NO_BUFFERS
    case ECONNREFUSED: LB_DROP_REFUSED
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, EDESTADDRREQ:
        LB_DROP_UNREACHABLE
    case EMSGSIZE: LB_DROP_MESSAGE_TOO_LONG
    case EPERM, EACCES: LB_DROP_NOT_PERMITTED
    default: LB_DROP_SEND_ERROR
    }
}
