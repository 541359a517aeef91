// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Logging

/// Has what is in force kept for the next process, neither too often nor in anybody's way.
actor DiscoveryKeeper {
    typealias Sets = [DiscoverySubject: DiscoveredSet]

    private let logger: Logger
    private var memory: (any DiscoveryMemory)?
    private var wanted: Sets?
    private var kept: Sets?
    private var hasFailed = false
    /// Under way while something is to be kept, or being so.
    private var task: Task<Void, Never>?

    /// More often than receivers come and go for good.
    private static let interval = Duration.seconds(1)
    private static let retryDelay = Duration.seconds(30)

    init(_ logger: Logger) { self.logger = logger }

    /// Where to keep it from now on; nil: nowhere.
    func remember(in memory: (any DiscoveryMemory)?) {
        self.memory = memory
        kept = nil
        begin()
    }

    func recall(_ subjects: Set<DiscoverySubject>) -> Sets { memory?.recall(subjects) ?? [:] }

    /// Keeps this soon, unless there is something newer then.
    func keep(_ sets: Sets) {
        wanted = sets
        begin()
    }

    /// Ends; what is left to keep is kept first, or left.
    func stop(keeps: Bool) async {
        task?.cancel()
        await task?.value
        if keeps { await keepNow() }
        memory = nil
    }

    private func begin() {
        guard task == nil, memory != nil, wanted != nil, wanted != kept else { return }
        task = Task {
            if (try? await Task.sleep(for: hasFailed ? Self.retryDelay : Self.interval)) != nil {
                await keepNow()
            }
            task = nil
            if !Task.isCancelled { begin() }
        }
    }

    private func keepNow() async {
        guard let memory, let wanted, wanted != kept else { return }
        do {
            try await Self.write(wanted, to: memory)
            kept = wanted
            if hasFailed { logger.info("receivers are remembered again for the next start") }
            hasFailed = false
        } catch {
            if !hasFailed {
                logger.warning(
                    "receivers are not remembered for the next start",
                    metadata: [
                        "error": "\(error)",
                        "remedy": "see to the folder of the control socket",
                    ])
            }
            hasFailed = true
        }
    }

    /// Elsewhere than on the actor, whom others tell of what is found.
    @concurrent private static func write(
        _ sets: Sets, to memory: any DiscoveryMemory
    ) async throws { try memory.keep(sets) }
}
