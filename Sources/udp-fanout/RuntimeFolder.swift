// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import UserspacePlane

/// Where the control socket is unless it is written.
enum ControlPlace {
    static let fileName = "control.sock"
    /// Of a daemon that root or a service runs.
    static let system = "/run/udp-fanout/\(fileName)"

    /// Where this process would have it: in the runtime folder that a service is given (systemd.exec(5),
    /// RUNTIME_DIRECTORY), else the system's for root and the user's own for others; nil without one.
    static var own: String? {
        if let folder = Environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
            return "\(folder)/\(fileName)"
        }
        return ThisProcess.effectiveUser == 0 ? system : ofUser
    }

    /// Where a client looks: its own place first, then the system's.
    static var candidates: [String] {
        [own, system].compactMap { $0 }
    }

    /// Of a user's session (XDG Base Directory Specification).
    private static var ofUser: String? {
        guard let folder = Environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return nil }
        return "\(folder)/udp-fanout/\(fileName)"
    }
}

/// The listening sockets that the service manager keeps for the next start.
struct SocketStore {
    /// By the socket: its label in the store, or nil if another process keeps it.
    private var labels: [UInt64: String?] = [:]
    private var next = 0

    private static let prefix = "udpfanout-"
    private static let steered = "steered-"

    init() {}

    /// Takes up what was passed at the start.
    init(_ passed: PassedDescriptors) {
        for each in passed.all {
            let isOurs = each.name.hasPrefix(Self.prefix)
            labels[Socket.identity(of: each.descriptor)] = .some(isOurs ? each.name : nil)
        }
    }

    /// Whether the manager has some that it would pass to the next start.
    var isEmpty: Bool { labels.isEmpty }

    /// Whether sockets that come by this label are steered by a program of their group.
    static func isSteered(_ label: String) -> Bool { label.hasPrefix(prefix + steered) }

    /// Has the manager keep the sockets of these listeners, and no others.
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
