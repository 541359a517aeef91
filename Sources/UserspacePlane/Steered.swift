// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Logging

/// A listener with steered workers, and their steering.
struct Steered {
    /// The name of the steering, for the log.
    let by: String
    private let hold: (any SteeringHold)?

    /// Whether there is a choice that is not left to the kernel.
    static func isWanted(for listener: Listener, workers: Int) -> Bool {
        listener.settings.steer != .kernel && workers > 1
    }

    /// Sockets that were inherited with an attached program, which stays: each source keeps its socket. A socket cannot
    /// be in the maps of two programs either (kernel: EBUSY); a classic program has no map.
    init?(keptBy group: ListenerGroup) {
        let listener = group.listener
        guard listener.settings.steer == .sourceIP, group.workers.count > 1,
            !listener.settings.sharePort
        else { return nil }
        by = "inherited"
        hold = nil
    }

    /// Tries the steerings in their order.
    ///
    /// - Returns: nil when the kernel chooses: because the listener is configured so, has one worker, or shares its
    ///   port with sockets of other processes, or because every steering failed, which is logged.
    init?(_ group: ListenerGroup, by preferences: [any WorkerSteering], logger: Logger) {
        let listener = group.listener
        let sockets = group.workers.map(\.descriptor)
        guard Self.isWanted(for: listener, workers: sockets.count) else { return nil }
        if listener.settings.sharePort {
            logger.debug(
                "workers are not steered: with share_port others may have sockets in the group",
                metadata: ["listener": "\(listener.name)"])
            return nil
        }
        var failures: [(what: String, level: Logger.Level)] = []
        for steering in preferences {
            do throws(SystemError) {
                hold = try steering.steer(sockets, of: listener)
                by = steering.name
                for failure in failures {
                    logger.log(
                        level: failure.level, "a way to steer workers does not work here",
                        metadata: ["listener": "\(listener.name)", "error": "\(failure.what)"])
                }
                return
            } catch {
                failures.append(("\(steering.name): \(error)", Self.level(of: error)))
            }
        }
        logger.warning(
            "workers are not steered; the kernel chooses, and a source may reach several of them",
            metadata: [
                "listener": "\(listener.name)",
                "error": "\(failures.map(\.what).joined(separator: "; "))",
            ])
        return nil
    }

    /// Missing privileges are the operator's choice, an old kernel does what it can, and inherited sockets may still be
    /// in a program's map. Any other refusal of the kernel is a defect, so it is logged as a warning.
    private static func level(of error: SystemError) -> Logger.Level {
        [EPERM, EACCES, EOPNOTSUPP, EBUSY].contains(error.code) ? .debug : .warning
    }
}
