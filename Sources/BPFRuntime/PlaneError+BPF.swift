// SPDX-License-Identifier: Apache-2.0

package import FanoutCore

extension PlaneError {
    /// What libbpf or the kernel refused to a plane.
    ///
    /// - Parameter oldestKernel: the version of Linux that can verify the plane's program, as `5.12`.
    package init(_ error: BPFError, mode: ForwardingMode, oldestKernel: String) {
        var (reason, remedy) = (error.reason, error.remedy)
        if !error.log.isEmpty {
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
