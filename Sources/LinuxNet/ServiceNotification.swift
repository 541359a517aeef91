// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Notifies the service manager (sd_notify(3)), by datagrams to the socket that the environment names. Without that
/// socket all functions do nothing.
public struct ServiceNotification: Sendable {
    /// The path of the socket, or an abstract name, which begins with NUL.
    let name: [UInt8]?
    /// The watchdog interval (`WatchdogSec=`); nil without a watchdog.
    public let watchdog: Duration?

    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment.
    public init() {
        self.init(
            socket: Environment["NOTIFY_SOCKET"], watchdog: Environment["WATCHDOG_USEC"],
            process: Environment["WATCHDOG_PID"])
    }

    /// - Parameters:
    ///   - socket: a path, or `@` and an abstract name.
    ///   - watchdog: microseconds.
    ///   - process: the process that the watchdog is for; nil: every process.
    init(socket: String?, watchdog: String?, process: String?) {
        if let socket, let first = socket.utf8.first, first == UInt8(ascii: "/") || first == 0x40 {
            name = (first == 0x40 ? [0] : [first]) + Array(socket.utf8.dropFirst())
        } else {
            name = nil
        }
        let isOurs = process.map { Int32($0) == getpid() } ?? true
        let wanted = watchdog.flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        self.watchdog = isOurs && name != nil ? wanted.map { .microseconds($0) } : nil
    }

    /// The daemon is ready.
    public func ready() { send("READY=1") }

    /// The daemon begins to end.
    public func stopping() { send("STOPPING=1") }

    /// Notifies the watchdog, at least once in each `watchdog` interval; usually twice as often.
    public func alive() { send("WATCHDOG=1") }

    /// A line for `systemctl status`; line ends become blanks.
    public func status(_ text: String) {
        send("STATUS=" + String(text.map { $0.isNewline ? " " : $0 }))
    }

    func send(_ text: String, descriptors: [Int32] = []) {
        guard let name else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard name.count < room else { return }
        let socket = Glibc.socket(
            AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { _ = close(socket) }
        let start = MemoryLayout<sockaddr_un>.size - room
        let isAbstract = name.first == 0
        // A path ends with its NUL; an abstract name is as long as the size says.
        let size = socklen_t(start + name.count + (isAbstract ? 0 : 1))
        let payload = Array(text.utf8)
        // SAFETY: the name is shorter than the room for it, and zeros follow.
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            for (index, byte) in name.enumerated() { unsafe bytes[start + index] = byte }
        }
        // SAFETY: the structure holds `size` bytes, read before the call returns.
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bound in
                guard unsafe connect(socket, bound, size) == 0 else { return }
                // SAFETY: both arrays outlive the call, which reads as much of them as it is told.
                _ = unsafe cnet_send_descriptors(
                    socket, payload, payload.count, descriptors, UInt32(descriptors.count))
            }
        }
    }
}

extension ServiceNotification {
    /// The configuration is being read again, until `ready` (systemd.service(5), Type=notify-reload).
    public func reloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.now / 1000)")
    }

    /// Makes this process the main process of the service (sd_notify(3)).
    public func isMainProcess() { send("MAINPID=\(ThisProcess.number)") }
}

/// Descriptors that the manager keeps open over a restart (systemd.service(5), FileDescriptorStoreMax=).
extension ServiceNotification {
    /// Whether there is a service manager.
    public var isManaged: Bool { name != nil }

    /// Stores copies of descriptors with the manager, for the next start of the service.
    ///
    /// - Parameter label: the name under which they are passed back; at most 255 characters without a colon.
    public func keep(_ descriptors: [Int32], as label: String) {
        var rest = descriptors[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(Int(CNET_DESCRIPTORS_MAX)))
            rest = rest.dropFirst(part.count)
            // Without FDPOLL=0 the manager drops a socket that reports an error.
            send("FDSTORE=1\nFDNAME=\(label)\nFDPOLL=0", descriptors: part)
        }
    }

    /// Removes the descriptors with this label from the manager's store.
    public func forget(_ label: String) { send("FDSTOREREMOVE=1\nFDNAME=\(label)") }

    /// Makes process `number` the main process of the service, in place of this one, which ends (sd_notify(3)).
    public func isFollowed(by number: Int32) { send("MAINPID=\(number)") }
}
