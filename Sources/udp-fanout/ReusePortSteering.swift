// SPDX-License-Identifier: Apache-2.0

#if KernelModes
    internal import FanoutCore
    internal import Glibc
    internal import LinuxNet
    internal import ReusePortLB
    internal import Synchronization
    internal import UserspacePlane

    /// The workers of a listener as a private reuseport group, one slot each. Needs the privilege to load programs.
    final class ReusePortSteering: WorkerSteering {
        let name = "ebpf"
        /// Groups prepared for the sockets of a listener, by its name: loading one takes milliseconds, in which a
        /// socket's buffer could fill up.
        private let prepared = Mutex<[String: Group]>([:])

        func prepare(workers: Int, of listener: Listener) {
            // A failure recurs when the listener is steered, and is reported there.
            let group = try? Group(workers: workers, listener.settings.steer)
            prepared.withLock { $0[listener.name] = group }
        }

        func discard() { prepared.withLock { $0 = [:] } }

        func steer(
            _ sockets: [Int32], of listener: Listener
        ) throws(SystemError) -> (any SteeringHold)? {
            let waiting = prepared.withLock { $0.removeValue(forKey: listener.name) }
            do throws(ReusePortError) {
                let group =
                    if let waiting, waiting.workers == sockets.count { waiting } else {
                        try Group(workers: sockets.count, listener.settings.steer)
                    }
                return try group.seat(sockets)
            } catch {
                var what = "\(error.operation) \(error.subject)"
                if error.code == .programRefused, let reason = Self.reason.withLock({ $0 }) {
                    what += " (\(reason))"
                }
                throw SystemError(what, code: error.errno)
            }
        }

        /// libbpf's first message when the program was refused: the cause, before its consequences.
        private static let reason = Mutex<String?>(nil)

        /// A group with a slot for each worker.
        private final class Group: Sendable {
            let workers: Int
            private let group: ReusePortGroup

            init(workers: Int, _ steer: Steer) throws(ReusePortError) {
                self.workers = workers
                ReusePortSteering.reason.withLock { $0 = nil }
                var options = GroupOptions(count: workers, key: steer == .cpu ? .cpu : .sourceIP)
                options.log = { level, line in
                    guard level == .error else { return }
                    ReusePortSteering.reason.withLock { $0 = $0 ?? line }
                }
                group = try ReusePortGroup(private: options)
            }

            func seat(_ sockets: [Int32]) throws(ReusePortError) -> Seats {
                var seats: [Seat] = []
                for (slot, socket) in sockets.enumerated() {
                    seats.append(Seat(try group.join(descriptor: socket, slot: slot)))
                }
                return Seats(seats)
            }
        }

        /// Boxes a membership, because an array takes no noncopyable values.
        private final class Seat: Sendable {
            private let membership: Membership
            init(_ membership: consuming Membership) { self.membership = membership }
        }

        private final class Seats: SteeringHold {
            private let seats: [Seat]
            init(_ seats: [Seat]) { self.seats = seats }
        }
    }
#endif
