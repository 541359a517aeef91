// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import Logging

#if KernelModes
    internal import BPFRuntime
#endif

/// The programs that the kernel modes load: the embedded ones, or those of the command line.
struct KernelModePrograms: Sendable {
    private struct Named: Sendable {
        let flag: String
        let mode: ForwardingMode
        let path: String
    }

    private var paths: [Named] = []
    #if KernelModes
        private(set) var tc = ProgramSource.embedded
        private(set) var xdp = ProgramSource.embedded
    #endif

    /// The embedded programs.
    init() {}

    /// - Parameters:
    ///   - tc: the path of an object for `tc_ebpf`; nil for the embedded one.
    ///   - xdp: the same for `af_xdp`.
    init(tc: String?, xdp: String?) {
        paths = [("--ebpf-program", .tcEBPF, tc), ("--xdp-program", .afXDP, xdp)]
            .compactMap { flag, mode, path in path.map { Named(flag: flag, mode: mode, path: $0) } }
        #if KernelModes
            if let tc { self.tc = .file(tc) }
            if let xdp { self.xdp = .file(xdp) }
        #endif
    }

    /// Warns about programs without a listener.
    func warn(_ configuration: Configuration, _ logger: Logger) {
        for named in paths where !configuration.listeners.contains(where: { $0.mode == named.mode })
        {
            logger.warning(
                "no listener uses a program of this kind; it is not loaded",
                metadata: ["flag": "\(named.flag)", "path": "\(named.path)"])
        }
    }
}
