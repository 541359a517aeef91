// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import Logging
internal import UnixSignals

/// The signals of the process: SIGHUP reloads; SIGTERM and SIGINT end it in order, and so does SIGUSR2, which leaves
/// the kernel programs running until the next start; a second of these signals ends it at once.
struct SignalLoop {
    private let signals: UnixSignalsSequence
    private let logger: Logger

    /// Catches signals from here on; `run` handles them. So no signal during the start is lost or kills the daemon
    /// halfway.
    init(logger: Logger) async {
        signals = await UnixSignalsSequence(trapping: .sighup, .sigterm, .sigint, .sigusr2)
        self.logger = logger
    }

    /// Handles signals for the rest of the process's life. Neither closure may take long. The second one is called
    /// once, with whether another start follows.
    func run(onHangUp: () -> Void, onTermination: (_ isRestart: Bool) -> Void) async {
        var ending: (signal: UnixSignal, since: ContinuousClock.Instant)?
        for await signal in signals {
            logger.info("received \(signal)")
            if signal == .sighup {
                onHangUp()
            } else if let first = ending {
                // timeout(1) signals the process and its group, so one signal arrives twice. A user is not this quick.
                let isEcho =
                    signal == first.signal && ContinuousClock.now - first.since < .milliseconds(100)
                if isEcho { continue }
                logger.warning("ending at once; received datagrams may not be forwarded")
                ThisProcess.exitNow(128 + signal.rawValue)
            } else {
                ending = (signal, .now)
                onTermination(signal == .sigusr2)
            }
        }
    }
}
