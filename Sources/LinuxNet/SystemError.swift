// SPDX-License-Identifier: Apache-2.0

package import CDatapath
internal import CNet
internal import Glibc

/// A system call that failed.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call, such as `bind`.
    public let operation: String
    /// The errno.
    public let code: Int32

    public init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The errno by name: `EADDRINUSE`.
    public var name: String {
        // SAFETY: it returns a static, NUL-terminated string for every code, as the next one does.
        unsafe String(cString: cnet_error_name(code))
    }

    /// The name with the kernel's sentence: `EADDRINUSE (Address already in use)`.
    public var reason: String {
        unsafe "\(name) (\(String(cString: cnet_error_text(code))))"
    }

    public var description: String { "\(operation): \(reason)" }
}

/// Turns negative results into errors.
@discardableResult
func check(_ operation: String, _ result: Int32) throws(SystemError) -> Int32 {
    if result < 0 { throw SystemError(operation, code: -result) }
    return result
}

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
