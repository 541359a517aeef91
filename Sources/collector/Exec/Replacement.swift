// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxNet
internal import ReusePortLB

/// Starts a program in the slot of another one, and then ends that.
struct Replacement {
    /// The process that is to end.
    let previous: Int32
    let slot: Int
    /// Seconds from SIGTERM to SIGKILL.
    let stopTimeout: Int

    /// Packets on their way into the old socket arrive within milliseconds; then the program has this long to read them.
    private static let grace = Duration.seconds(1)
    /// How long the new program may take until it binds its socket.
    private static let start = Duration.seconds(60)

    /// - Parameter words: the arguments of `collector` that run the program in the slot.
    func run(_ words: [String], in group: borrowing ReusePortGroup) async throws {
        guard let watch = ProcessWatch(previous) else {
            throw ExecError("--stop \(previous)", "there is no such process")
        }
        let members = try group.members().filter { $0.slot == slot && !$0.isPrevious }
        if let other = members.first?.pid, !members.contains(where: { $0.pid == previous }) {
            throw ExecError(
                "--stop \(previous)", "the member of slot \(slot) is process \(other)")
        }
        let manager = ServiceNotification()
        let child: Int32
        do {
            child = try ThisProcess.start("/proc/self/exe", words)
        } catch {
            throw ExecError("start the program", error.reason)
        }
        guard try await holds(within: Self.start, child, { try isCurrent(child, in: group) }) else {
            _ = kill(child, SIGTERM)
            throw failure("bound no socket to the address of --listen in 60 s and was ended")
        }
        manager.isFollowed(by: child)
        do {
            _ = try await holds(within: Self.grace, child) { false }
        } catch {
            manager.isFollowed(by: previous)
            throw error
        }
        _ = kill(previous, SIGTERM)
        guard try await hasEnded(watch) else {
            StandardStream.error.write(
                "collector: process \(previous) still runs \(stopTimeout) s after SIGTERM; sending SIGKILL\n"
            )
            _ = kill(previous, SIGKILL)
            return
        }
    }

    private func isCurrent(_ child: Int32, in group: borrowing ReusePortGroup) throws -> Bool {
        try group.members().contains { $0.slot == slot && !$0.isPrevious && $0.pid == child }
    }

    private func failure(_ reason: String) -> ExecError {
        ExecError(
            "replace process \(previous)", "the new one \(reason); the old one keeps the slot")
    }

    /// Waits until the condition holds or the time is over.
    ///
    /// - Throws: when the child ends meanwhile.
    private func holds(
        within limit: Duration, _ child: Int32, _ condition: () throws -> Bool
    ) async throws -> Bool {
        let clock = ContinuousClock()
        let end = clock.now + limit
        repeat {
            if let status = ThisProcess.ending(of: child) {
                throw failure("ended with status \(status)")
            }
            if try condition() { return true }
            try await Task.sleep(for: .milliseconds(20))
        } while clock.now < end
        return false
    }

    private func hasEnded(_ watch: ProcessWatch) async throws -> Bool {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(stopTimeout)
        while !watch.hasEnded(within: .zero) {
            guard clock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(20))
        }
        return true
    }
}
