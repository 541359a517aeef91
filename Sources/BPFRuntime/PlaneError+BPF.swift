// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Glibc

extension PlaneError {
    /// What libbpf or the kernel refused to a plane.
    ///
    /// - Parameters:
    ///   - oldestKernel: the version of Linux that can verify the plane's program, as `5.12`.
    ///   - lacking: capabilities that loading the program takes and the process has not, by name. A kernel
    ///     that refuses the program does so for them, whatever its verifier says.
    package init(
        _ error: BPFError, mode: ForwardingMode, oldestKernel: String, lacking: [String]
    ) {
        var (reason, remedy) = (error.reason, error.remedy)
        let isRefused = !error.log.isEmpty || error.errno == EPERM || error.errno == EACCES
        if isRefused, !lacking.isEmpty {
            remedy =
                lacking.joined(separator: " and ") + (lacking.count == 1 ? " is" : " are")
                + " missing, which mode \(mode.rawValue) needs; run as root or grant all that it needs "
                + "(the mode's unit in packaging/systemd does; udp-fanout doctor lists them)"
        } else if !error.log.isEmpty {
            reason =
                (["\(reason), the verifier's last words:"] + error.log)
                .joined(separator: "\n    ") + "\n"
            remedy =
                "mode \(mode.rawValue) needs Linux \(oldestKernel), and this is "
                + "\(BPFRuntimeInfo.kernelRelease); on a newer one " + remedy
        }
        self.init(
            operation: error.operation, subject: error.subject, code: error.errno, reason: reason,
            remedy: remedy)
    }
}
