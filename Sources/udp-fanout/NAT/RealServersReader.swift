// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutCore
internal import LinuxNet
internal import Logging

/// Follows the file of `-cfg`: what can be used of it is put into force, anything else is told once and
/// changes nothing.
actor RealServersReader {
    private let path: String
    private let service: NATService
    private let daemon: Daemon
    private var active: RealServers
    private var isMissing = false
    /// Whether what was read last is not in force; the daemon then reports a failed reload.
    private var isRefused = false

    private static let interval = Duration.milliseconds(250)

    init(path: String, first: RealServers, service: NATService, daemon: Daemon) {
        self.path = path
        self.service = service
        self.daemon = daemon
        active = first
    }

    /// Looks at the file four times a second, until the task is cancelled. A change counts once the file
    /// looked the same twice, so that one being written is not read half-way.
    func run() async {
        var reported = FileState(of: path)
        var previous = reported
        // What changed between the first reading and now.
        await read()
        while (try? await Task.sleep(for: Self.interval)) != nil {
            let now = FileState(of: path)
            defer { previous = now }
            guard now == previous else { continue }
            if now == nil {
                if !isMissing { await refuse("\(path): the file does not exist") }
                isMissing = true
            } else if isMissing || now != reported {
                isMissing = false
                reported = now
                await read()
            }
        }
    }

    /// Puts the file as it now stands into force.
    func read() async {
        do throws(RealServers.Fault) {
            let servers = try RealServers(path: path)
            try service.check(servers)
            // The servers in force, after a bad file, make a reload that succeeds.
            guard servers != active || isRefused else { return }
            isRefused = await !daemon.adopt(service.with(servers))
            if !isRefused { active = servers }
        } catch {
            await refuse(error.reason)
        }
    }

    private func refuse(_ reason: String) async {
        isRefused = true
        await daemon.refuse(reason)
    }
}
