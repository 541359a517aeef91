// SPDX-License-Identifier: Apache-2.0

/// How patient a watch is.
struct WatchTiming: Sendable {
    /// The first pause after a failure, and the longest.
    var backoffBase = Duration.milliseconds(500)
    var longestBackoff = Duration.seconds(30)
    /// Objects that one page of a list may have.
    var pageSize = 500
    /// For one page of a list.
    var listLimit = Duration.seconds(30)
    /// What the server is asked to end a watch after; a random time, so that the watches of many nodes
    /// are spread out.
    var shortestWatch = Duration.seconds(240)
    /// How much later a watch that the server did not end is given up: the connection is dead.
    var watchGrace = Duration.seconds(30)

    /// A watch that lasted so long has worked, though it may have said nothing.
    var soundWatch = Duration.seconds(10)

    var watchDuration: Duration {
        .seconds(Int64((Double(shortestWatch.components.seconds) * .random(in: 1...1.5)).rounded()))
    }
}
