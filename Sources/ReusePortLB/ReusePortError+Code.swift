// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc

extension ReusePortError.Code {
    /// The errnos are those that reuseport_lb.h lists with its functions.
    init(errno: Int32) {
        self =
            switch errno {
            case EINVAL: .invalid
            case ERANGE: .outOfRange
            case EEXIST: .slotTaken
            case EBUSY: .busy
            case ENOENT: .notFound
            case ENODEV: .noBPFFileSystem
            case EPERM: .notPermitted
            case EACCES: .accessDenied
            case ESTALE: .settingsDiffer
            case EPROTONOSUPPORT: .otherVersion
            case EOPNOTSUPP: .kernelTooOld
            case ENOEXEC: .programRefused
            case ETIMEDOUT: .timedOut
            case ENOTSOCK, EPROTOTYPE, EBADF: .wrongSocket
            case EDESTADDRREQ, ENOTCONN: .notBound
            case ENOPROTOOPT: .notSharingPort
            case EADDRNOTAVAIL: .otherAddress
            case EADDRINUSE: .addressInUse
            case EMFILE, ENFILE, ENOMEM, ENOBUFS: .noResources
            default: .other
            }
    }
}

/// The one funnel of C results, 0 or -errno, into errors.
@inline(__always)
func check(
    _ result: Int32, _ operation: @autoclosure () -> String, _ subject: @autoclosure () -> String,
    _ call: rplb_call = RPLB_CALL_ANY
) throws(ReusePortError) {
    if result < 0 { throw ReusePortError(operation(), subject(), errno: -result, call) }
}
