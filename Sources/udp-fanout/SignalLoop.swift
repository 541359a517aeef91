// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import Logging
internal import UnixSignals

/// What the process does about signals: SIGHUP reloads; SIGTERM and SIGINT end in order, and so does SIGUSR2,
/// which leaves what forwards in the kernel to the next start; a second of those ends at once.
struct SignalLoop {
    private let signals: UnixSignalsSequence
    private let logger: Logger

    /// Signals are caught from here on and acted upon in `run`, so none that arrives while the daemon
    /// starts is lost or kills it half-way.
    init(logger: Logger) async {
        signals = await UnixSignalsSequence(trapping: .sighup, .sigterm, .sigint, .sigusr2)
        self.logger = logger
    }

    /// Hears signals for the rest of the process's life. Neither closure may take long; the second
    /// is called once, with whether another start follows.
    func run(onHangUp: () -> Void, onTermination: (_ isRestart: Bool) -> Void) async {
        var ending: (signal: UnixSignal, since: ContinuousClock.Instant)?
        for await signal in signals {
            logger.info("received \(signal)")
            if signal == .sighup {
                onHangUp()
            } else if let first = ending {
                // timeout(1) signals the process and its group: one wish, told twice. No hand is so quick.
                let isEcho =
                    signal == first.signal && ContinuousClock.now - first.since < .milliseconds(100)
                if isEcho { continue }
                logger.warning("ending at once, before what was received is forwarded")
                ThisProcess.exitNow(128 + signal.rawValue)
            } else {
                ending = (signal, .now)
                onTermination(signal == .sigusr2)
            }
        }
    }
}
