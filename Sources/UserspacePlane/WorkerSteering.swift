// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import LinuxNet

/// A way to steer all datagrams of a source address to one worker of a listener.
///
/// The plane has a list of them, in order of preference, and leaves the choice to the kernel when all of them fail.
public protocol WorkerSteering: Sendable {
    /// Its name in the log, such as `cbpf`.
    var name: String { get }

    /// Does slow work before the sockets of `workers` workers are bound, so that no datagrams wait in them while
    /// `steer` runs. `steer` may not follow: when the listener cannot be opened, or another steering serves it.
    func prepare(workers: Int, of listener: Listener)

    /// Releases unused preparations.
    func discard()

    /// Steers each source to one of `sockets` from now on.
    ///
    /// The plane calls this when the sockets are bound and before their workers read. The same reuseport group may have
    /// previous sockets of the plane, in service and steered as well. They leave the group, one by one, after this has
    /// returned; their last datagrams are still read. An implementation must lose no datagram while both are in the
    /// group. Once the others have left, it must steer each source to one of `sockets`, in whatever order the kernel
    /// has them. It need not undo its work for the others: the plane releases the result of their `steer`.
    ///
    /// - Parameters:
    ///   - sockets: descriptors in the order of the workers, two or more, bound with SO_REUSEPORT to `listener.bind`.
    ///     They are borrowed: only the plane closes them, after it has released the result.
    ///   - listener: the listener of the sockets, for names and messages.
    /// - Returns: an object that must live as long as the sockets are in service; nil when the kernel keeps all that is
    ///   needed.
    /// - Throws: `SystemError` on failure. A program that is attached then is replaced by the next steering's or
    ///   detached by the plane.
    func steer(
        _ sockets: [Int32], of listener: Listener
    ) throws(SystemError) -> (any SteeringHold)?
}

extension WorkerSteering {
    public func prepare(workers: Int, of listener: Listener) {}

    public func discard() {}
}

/// Keeps a steering attached until its last reference goes, before its sockets are closed. Other sockets may be
/// steered in the same reuseport group by then, so its program must stay.
public protocol SteeringHold: AnyObject, Sendable {}
