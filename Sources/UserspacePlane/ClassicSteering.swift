// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import LinuxNet

/// Steering by a classic BPF program, which needs neither privilege nor libbpf.
///
/// The program's result is an index into the kernel's array of the group, so it knows places, not
/// sockets. That is enough, since workers are interchangeable: see
/// docs/decisions/0007-steering-workers.md for what happens while sockets come and go.
public struct ClassicSteering: WorkerSteering {
    public var name: String { "cbpf" }

    public init() {}

    public func steer(
        _ sockets: [Int32], of listener: Listener
    ) throws(SystemError) -> (any SteeringHold)? {
        try ReuseportGroup(member: sockets[0])
            .attach(SteeringProgram.sourceIP(workers: sockets.count))
        return nil
    }
}
