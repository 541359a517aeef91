// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Synchronization

/// Probes with its own sockets, all from one thread. The thread runs only while there are targets.
public final class SocketProbe: HealthProbe {
    private struct Running: ~Copyable {
        let orders: ProbeOrders
        let thread: Thread
    }

    private struct State: ~Copyable {
        var running: Running?
        /// Kept across plans; opened with the first target of the family.
        var echo: [IPAddress.Family: EchoSocket] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    deinit { stop() }

    public func follow(
        _ plan: ProbePlan, report: @escaping @Sendable ([ProbeReport]) -> Void
    ) throws(HealthError) {
        guard !plan.targets.isEmpty else { return stop() }
        try state.withLock { state throws(HealthError) in
            var echo = state.echo
            let families = plan.targets.filter { $0.kind == .icmp }.map(\.endpoint.address.family)
            for family in Set(families) where echo[family] == nil {
                echo[family] = try EchoSocket(family)
            }
            if state.running == nil { state.running = try Self.start() }
            state.echo = echo
            state.running?.orders.give(.init(plan: plan, echo: echo, report: report))
        }
    }

    private static func start() throws(HealthError) -> Running {
        do throws(SystemError) {
            let orders = try ProbeOrders()
            let thread = try Thread(name: "health") {
                var loop = ProbeLoop(orders)
                loop.run()
            }
            return Running(orders: orders, thread: thread)
        } catch {
            throw HealthError(
                operation: error.operation, subject: "the health checks' thread",
                code: error.code, reason: error.reason,
                remedy: "raise the limit of open files (ulimit -n) or of threads (ulimit -u)")
        }
    }

    public func stop() {
        let running = state.withLock { state in
            state.echo = [:]
            return state.running.take()
        }
        guard let running else { return }
        running.orders.end()
        running.thread.join()
    }
}

extension SystemError {
    /// The result if the error arrived in response to a probe. The kernel derives it from ICMP messages
    /// (`icmp_err_convert` in net/ipv4/icmp.c) and TCP resets.
    var answer: ProbeResult {
        switch code {
        case ECONNREFUSED, ECONNRESET: .refused
        case ETIMEDOUT: .timeout
        case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, ENONET, EACCES, EPROTO, ENOPROTOOPT,
            EOPNOTSUPP:
            .unreachable
        default: .error
        }
    }

    /// The result if the probe could not be sent. Without a route the target is unreachable for other datagrams
    /// too; missing descriptors or permissions concern this host only.
    var obstacle: ProbeResult {
        switch code {
        case ECONNREFUSED: .refused
        case EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN: .unreachable
        default: .error
        }
    }
}
