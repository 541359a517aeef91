// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControlSocket
internal import FanoutCore
internal import Glibc
internal import LinuxNet

extension HostFacts {
    /// An address that the configuration binds a socket to.
    struct Place: Hashable {
        enum Kind: Hashable { case listener, metrics }

        let kind: Kind
        let endpoint: Endpoint
    }

    /// Binds what the configuration binds, and closes it at once.
    mutating func tryAddresses(of configuration: Configuration) {
        for listener in configuration.listeners where listener.mode == .userspace {
            // A socket that joins others would take datagrams from them.
            let port = listener.settings.sharePort ? 0 : listener.bind.port
            let trial = Endpoint(listener.bind.address, port: port)
            do throws(SystemError) {
                _ = try Socket.listening(on: trial, sharing: .exclusive)
            } catch {
                refusals[Place(kind: .listener, endpoint: listener.bind)] = error
            }
        }
        guard configuration.metrics.enabled else { return }
        do throws(SystemError) {
            _ = try Socket.boundStream(on: configuration.metrics.bind)
        } catch {
            refusals[Place(kind: .metrics, endpoint: configuration.metrics.bind)] = error
        }
    }

    /// What the daemon at the configuration's control socket serves.
    mutating func askDaemon(of configuration: Configuration) {
        guard refusals.values.contains(where: \.isTaken), configuration.control.enabled,
            let path = configuration.control.socket ?? ControlPlace.own,
            let client = try? ControlClient.ifPresent(at: path)
        else { return }
        defer { client.end() }
        guard let status = try? client.ask(ControlRequest(.status)).status else { return }
        served = Set(status.listeners.filter { $0.mode == "userspace" }.map(\.bind))
        isDaemonRunning = true
    }

    /// Whether the capabilities of this process are those of a user namespace of its own (user_namespaces(7)).
    static func isInUserNamespace(_ map: String?) -> Bool {
        guard let map else { return false }
        let numbers = map.split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
        return numbers != [0, 0, UInt64(UInt32.max)]
    }

    /// Those that count. The kernel asks for the others in the namespace that the host began with; for CAP_NET_RAW
    /// and its like in the one to which the network belongs.
    static func effective(_ held: Capabilities, isInUserNamespace: Bool) -> Capabilities {
        guard isInUserNamespace else { return held }
        var result = held.subtracting([.bpf, .perfmon, .sysAdmin, .ipcLock, .sysResource])
        if (try? Socket.rawPing(.v4)) == nil { result.remove(.netRaw) }
        return result
    }
}

extension SystemError {
    var isTaken: Bool { code == EADDRINUSE }
}
