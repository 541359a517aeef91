// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import LinuxNet

/// A way to have all datagrams of a source address meet one worker of a listener.
///
/// The plane has a list of them, in order of preference, and leaves the choice to the kernel when all of
/// them fail.
public protocol WorkerSteering: Sendable {
    /// What the log calls it, such as `cbpf`.
    var name: String { get }

    /// Does what takes time before the sockets of `workers` workers are bound, so that nothing waits in
    /// them while `steer` runs. It may be called in vain: for a listener that then cannot be opened, or
    /// that another steering serves.
    func prepare(workers: Int, of listener: Listener)

    /// Lets go of what was prepared and not taken.
    func discard()

    /// Leads each source to one of `sockets` from now on.
    ///
    /// The plane calls this when the sockets are bound and before their workers read. In the same
    /// reuseport group there may be sockets of the same plane from before, in service and steered as
    /// well. They leave the group, one by one, after this has returned; their last datagrams are still
    /// read. So an implementation must lose nothing while both are there, and once the others have
    /// left it must lead each source to one of `sockets`, whatever order the kernel has them in. It does
    /// not have to undo what it did before for the others: letting go of what `steer` returned for
    /// them is all.
    ///
    /// - Parameters:
    ///   - sockets: descriptors in the order of the workers, two or more, bound with SO_REUSEPORT to
    ///     `listener.bind`. They are borrowed: the plane alone closes them, after it has released
    ///     the result.
    ///   - listener: whose sockets these are, for names and messages.
    /// - Returns: what has to live as long as the sockets are in service; nil when the kernel keeps
    ///   everything that is needed.
    /// - Throws: `SystemError` when it cannot be done. A program that is attached then is replaced by
    ///   the next steering's or detached by the plane.
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
