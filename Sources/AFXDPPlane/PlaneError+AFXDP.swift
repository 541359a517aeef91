// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import XDPSockets

extension PlaneError {
    /// The oldest kernel that the program and the sockets run on: XDP programs for packets in several
    /// pieces (`xdp.frags`, Linux 5.18).
    static let oldestKernel = "5.18"

    /// What libbpf or the kernel refused.
    init(_ error: BPFError) {
        self.init(
            error, mode: .afXDP, oldestKernel: Self.oldestKernel,
            lacking: Capabilities.kernelPrograms.subtracting(.permitted).names)
    }

    /// The program that is on the interface is that of another daemon.
    init(serving interface: String, _ occupant: XDPOccupant) {
        self.init(
            operation: "attach", subject: "\(SteerProgram.name) to interface \(interface)",
            code: EBUSY, reason: "another udp-fanout serves it (program \(occupant.number))",
            remedy: "end that one first, or name another interface")
    }

    /// A queue that no worker can be made for.
    init(opening queue: InterfaceQueue, _ error: any Error) {
        switch error {
        case let error as XDPSocketError:
            self.init(
                operation: error.operation, subject: error.subject, code: error.errno,
                reason: error.reason, remedy: error.remedy)
        case let error as SystemError:
            self.init(
                operation: error.operation, subject: "\(queue)", code: error.code,
                reason: error.reason, remedy: "raise the limits of open files and threads (ulimit)")
        default:
            self.init(
                operation: "open", subject: "\(queue)", reason: "\(error)", remedy: "see the log")
        }
    }
}
