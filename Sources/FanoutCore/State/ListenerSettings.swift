// SPDX-License-Identifier: Apache-2.0

/// The knobs under `settings`, for the daemon or for one listener.
public struct ListenerSettings: Hashable, Sendable {
    /// Longest datagram that is forwarded, payload bytes, 1...65535. Longer ones are counted and dropped.
    public var maxPacketSize: Int
    /// How many downstreams the listener may have, 1...1024. Fixes the size of hash-keyed tables.
    public var maxDownstream: Int
    /// Messages that one receive call takes, 1...1024.
    public var batchSize: Int
    /// Worker threads and sockets, 0...256; 0 = one per CPU that the process may use.
    public var workers: Int
    /// Whether each worker stays on one CPU.
    public var pinCPUs: Bool
    /// Receive buffer of each socket in bytes; 0 = the system's default (`net.core.rmem_default`).
    public var receiveBufferBytes: Int
    /// Whether the listener may join an address that another process already serves.
    public var sharePort: Bool
    /// Who chooses the worker that gets a datagram.
    public var steer: Steer
    /// How `tc_ebpf` hooks into the interface.
    public var tcAttach: TCAttach
    /// Mixed into hash-keyed flow keys. Hosts with one seed and the same receivers choose alike.
    public var seed: UInt64
    /// Where `af_xdp` and `xdp_nat` meet packets.
    public var xdpMode: XDPAttach
    /// Whether the workers of `af_xdp` poll the device all the time rather than sleep.
    public var busyPoll: Bool
    /// Over how many seconds the share of a receiver rises that comes or is ready again, 0...3600; 0: it has all
    /// of it at once.
    public var slowStartSeconds: Int

    public init(
        maxPacketSize: Int = 9000, maxDownstream: Int = 64, batchSize: Int = 32, workers: Int = 0,
        pinCPUs: Bool = true, receiveBufferBytes: Int = 0, sharePort: Bool = false,
        steer: Steer = .sourceIP, tcAttach: TCAttach = .auto, seed: UInt64 = 0,
        xdpMode: XDPAttach = .auto, busyPoll: Bool = false, slowStartSeconds: Int = 0
    ) {
        self.maxPacketSize = maxPacketSize
        self.maxDownstream = maxDownstream
        self.batchSize = batchSize
        self.workers = workers
        self.pinCPUs = pinCPUs
        self.receiveBufferBytes = receiveBufferBytes
        self.sharePort = sharePort
        self.steer = steer
        self.tcAttach = tcAttach
        self.seed = seed
        self.xdpMode = xdpMode
        self.busyPoll = busyPoll
        self.slowStartSeconds = slowStartSeconds
    }
}
