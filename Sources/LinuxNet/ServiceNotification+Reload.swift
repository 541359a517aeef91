// SPDX-License-Identifier: Apache-2.0

extension ServiceNotification {
    /// The configuration is being read again, until `ready` (systemd.service(5), Type=notify-reload).
    public func reloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.now / 1000)")
    }

    /// This process is the service from now on, in place of the one that was started (sd_notify(3)).
    public func isMainProcess() { send("MAINPID=\(ThisProcess.number)") }
}
