// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet

/// Tells the service manager how the daemon is. A sign of life is given only when the daemon has answered: one
/// that hangs gives none, and is started anew.
final class DaemonNotification: Sendable {
    private let daemon: Daemon
    private let service = ServiceNotification()

    init(_ daemon: Daemon) { self.daemon = daemon }

    /// The daemon runs.
    func begin() {
        service.ready()
        guard let watchdog = service.watchdog else { return }
        Task { [daemon, service] in
            while (try? await Task.sleep(for: watchdog / 2)) != nil {
                _ = await daemon.counters()
                service.alive()
            }
        }
    }

    /// The daemon begins to end.
    func end() { service.stopping() }
}
