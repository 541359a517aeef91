// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Synchronization

/// Results on their way from the probing thread: put in without waiting, taken out all at once.
final class ProbeMailbox: Sendable {
    /// One element for any number of results since the last.
    let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let reports = Mutex<[ProbeReport]>([])

    init() {
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func put(_ more: [ProbeReport]) {
        reports.withLock { $0 += more }
        arrived.yield()
    }

    func take() -> [ProbeReport] {
        reports.withLock { reports in
            defer { reports = [] }
            return reports
        }
    }
}
