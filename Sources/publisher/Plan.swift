// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What a run is to do; nothing in it contradicts another thing.
struct Plan: Sendable {
    let destination: Endpoint
    let pace: Pace
    /// Bytes of each payload; nil = as long as the text is.
    let size: Int?
    /// The addresses that datagrams leave from, in turn; empty = what the kernel chooses.
    let sources: [IPAddress]
    /// 1 or more; not more than sources, if there are any.
    let workers: Int
    /// Whether each source has a connected socket of its own.
    let isConnected: Bool

    static let connectedMost = 1024

    /// What is taken in turn: addresses, or else the workers' sockets, each with a port of its own.
    var turns: Int { sources.isEmpty ? workers : sources.count }

    func share(of worker: Int) -> Share { Share(sources: turns, workers: workers, worker: worker) }
}
