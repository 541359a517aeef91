// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import UserspacePlane

/// The default paths of the control socket.
enum ControlPlace {
    static let fileName = "control.sock"
    /// For a daemon run by root or as a service.
    static let system = "/run/udp-fanout/\(fileName)"

    /// The default of this process: in the service's runtime folder (systemd.exec(5), RUNTIME_DIRECTORY), else in the
    /// system's for root or the user's for others; nil without a runtime folder.
    static var own: String? {
        if let folder = Environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
            return "\(folder)/\(fileName)"
        }
        return ThisProcess.effectiveUser == 0 ? system : ofUser
    }

    /// The paths that a client tries: its own default, then the system's.
    static var candidates: [String] {
        [own, system].compactMap { $0 }
    }

    /// In the runtime folder of a user's session (XDG Base Directory Specification).
    private static var ofUser: String? {
        guard let folder = Environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return nil }
        return "\(folder)/udp-fanout/\(fileName)"
    }
}

/// The listening sockets that the service manager keeps for the next start.
struct SocketStore {
    /// By socket: its label in the store, or nil if another process keeps it.
    private var labels: [UInt64: String?] = [:]
    private var next = 0

    private static let prefix = "udpfanout-"
    private static let steered = "steered-"

    init() {}

    /// Begins with the sockets that were passed at the start.
    init(_ passed: PassedDescriptors) {
        for each in passed.all {
            let isOurs = each.name.hasPrefix(Self.prefix)
            labels[Socket.identity(of: each.descriptor)] = .some(isOurs ? each.name : nil)
        }
    }

    /// Whether the manager keeps no sockets for the next start.
    var isEmpty: Bool { labels.isEmpty }

    /// Whether sockets with this label are steered by a program of their group.
    static func isSteered(_ label: String) -> Bool { label.hasPrefix(prefix + steered) }

    /// Stores exactly the sockets of these listeners with the manager.
    mutating func keep(_ listeners: [ListenerSockets], by service: ServiceNotification) {
        guard service.isManaged else { return }
        var present: Set<UInt64> = []
        for listener in listeners {
            let identities = listener.descriptors.map(Socket.identity)
            present.formUnion(identities)
            let new = zip(listener.descriptors, identities).filter { labels[$1] == nil }
            guard !new.isEmpty else { continue }
            next += 1
            let kind = listener.isSteered ? Self.steered : ""
            let label = "\(Self.prefix)\(kind)\(ThisProcess.number)-\(next)"
            service.keep(new.map(\.0), as: label)
            for (_, identity) in new { labels[identity] = .some(label) }
        }
        let kept = Set(labels.filter { present.contains($0.key) }.values.compactMap { $0 })
        let gone = Set(labels.values.compactMap { $0 }).subtracting(kept)
        for label in gone.sorted() { service.forget(label) }
        labels = labels.filter { present.contains($0.key) }
    }
}
