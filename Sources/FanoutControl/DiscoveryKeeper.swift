// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Logging

/// Saves the active receivers for the next process, at a limited rate and off the actor.
actor DiscoveryKeeper {
    private let logger: Logger
    private var memory: (any DiscoveryMemory)?
    private var wanted: DiscoveryView?
    private var kept: DiscoveryView?
    private var hasFailed = false
    /// Incremented for each file, so that the result of a write is attributed to the file it was for.
    private var generation = 0
    /// Not nil while a write is due or running.
    private var task: Task<Void, Never>?
    private var isEnding = false

    /// Shorter than the time between lasting changes of receivers.
    private static let interval = Duration.seconds(1)
    private static let retryDelay = Duration.seconds(30)

    init(_ logger: Logger) { self.logger = logger }

    /// Sets where to save; nil: nowhere.
    func remember(in memory: (any DiscoveryMemory)?) {
        self.memory = memory
        generation += 1
        (kept, hasFailed) = (nil, false)
        // A write to the new file waits for a running write to the old one, not for a scheduled one.
        task?.cancel()
        begin()
    }

    /// Saves this soon, unless a newer view replaces it.
    func keep(_ view: DiscoveryView) {
        wanted = DiscoveryView(view.sets, lastKnowns: view.lastKnowns)
        begin()
    }

    /// Stops; saves what is pending first, or discards it.
    func stop(keeps: Bool) async {
        isEnding = true
        task?.cancel()
        await task?.value
        if keeps { await keepNow() }
        memory = nil
    }

    private func begin() {
        guard !isEnding, task == nil, memory != nil, wanted != nil, wanted != kept else { return }
        task = Task {
            if (try? await Task.sleep(for: hasFailed ? Self.retryDelay : Self.interval)) != nil {
                await keepNow()
            }
            task = nil
            begin()
        }
    }

    private func keepNow() async {
        guard let memory, let wanted, wanted != kept else { return }
        let place = generation
        do {
            try await Self.write(wanted, to: memory)
            guard place == generation else { return }
            kept = wanted
            if hasFailed { logger.info("receivers are saved again for the next start") }
            hasFailed = false
        } catch {
            guard place == generation else { return }
            if !hasFailed {
                logger.warning(
                    "receivers are not saved for the next start",
                    metadata: [
                        "error": "\(error)",
                        "remedy": "check the folder of the control socket",
                    ])
            }
            hasFailed = true
        }
    }

    /// Off the actor, which must stay free for new results.
    @concurrent private static func write(
        _ view: DiscoveryView, to memory: any DiscoveryMemory
    ) async throws { try memory.keep(view) }
}
