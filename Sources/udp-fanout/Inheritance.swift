// SPDX-License-Identifier: Apache-2.0

internal import FanoutControl
internal import FanoutCore
internal import LinuxNet
internal import UserspacePlane

/// What another process or the service manager has passed to this daemon.
struct Inheritance: Sendable {
    var oldProcess: OldProcess?
    var sockets: InheritedSockets?
    var store = SocketStore()
    /// Whether this process was started to take over and found no daemon. An ending one may still hold ports or hooks.
    var isAfterEnd = false

    init() {}

    /// Calls `init(takingOverAt:)` on a separate thread, because a daemon may answer slowly.
    static func found(at path: String?) async throws -> Inheritance {
        guard let path else { return try Inheritance(takingOverAt: nil) }
        return try await withCheckedThrowingContinuation { continuation in
            do throws(SystemError) {
                try Thread(name: "takeover") {
                    continuation.resume(
                        with: Result { () throws -> Inheritance in
                            try Inheritance(takingOverAt: path)
                        })
                }.detach()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// - Parameter path: the control socket of the daemon to take over from; nil: none.
    init(takingOverAt path: String?) throws(ControlFailure) {
        let passed = PassedDescriptors()
        store = SocketStore(passed)
        var pairs = passed.all.map {
            (descriptor: $0.descriptor, isSteered: SocketStore.isSteered($0.name))
        }
        if let path, let (found, sockets) = try OldProcess.find(at: path) {
            oldProcess = found
            // Both may pass the same sockets; the daemon knows more about them.
            let known = Set(sockets.map { Socket.identity(of: $0.descriptor) })
            let isTwice = { known.contains(Socket.identity(of: $0)) }
            let twice = pairs.map(\.descriptor).filter(isTwice)
            pairs = pairs.filter { !twice.contains($0.descriptor) } + sockets
            for descriptor in twice { ThisProcess.close(descriptor) }
        }
        isAfterEnd = path != nil && oldProcess == nil
        guard !pairs.isEmpty || oldProcess != nil else { return }
        sockets = InheritedSockets(pairs) { [oldProcess] () throws(PlaneError) in
            try oldProcess?.switchOver()
        }
    }
}
