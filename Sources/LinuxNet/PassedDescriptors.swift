// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Descriptors that the service manager has passed at the start (sd_listen_fds(3)): those of socket units, and those
/// stored by the previous run.
public struct PassedDescriptors: Sendable {
    public struct Passed: Sendable {
        public let descriptor: Int32
        /// The name in the unit, or the label under which it was stored.
        public let name: String
    }

    /// In their order; open. The caller must close them.
    public let all: [Passed]

    /// Reads LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES from the environment, and sets close-on-exec.
    public init() {
        self.init(
            process: Environment["LISTEN_PID"], count: Environment["LISTEN_FDS"],
            names: Environment["LISTEN_FDNAMES"])
    }

    init(process: String?, count: String?, names: String?) {
        guard let process, Int32(process) == getpid(), let count = count.flatMap({ Int32($0) }),
            count > 0, count < 65_536
        else {
            all = []
            return
        }
        let names = (names ?? "").split(separator: ":", omittingEmptySubsequences: false)
        all = (0..<count).compactMap { index in
            // SD_LISTEN_FDS_START
            let descriptor = 3 + index
            guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { return nil }
            let name = Int(index) < names.count ? String(names[Int(index)]) : ""
            return Passed(descriptor: descriptor, name: name)
        }
    }
}
