// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging

/// Keeps a source running for each subject that a listener names, gathers what they find, and has
/// somebody act on it.
public actor DiscoveryMonitor: DiscoveryViewSource {
    private struct Run {
        let number: Int
        let source: any DiscoverySource
        let task: Task<Void, Never>
    }

    private let make: @Sendable (DiscoverySubject) -> any DiscoverySource
    let logger: Logger
    private let mailbox = DiscoveryMailbox()
    private var runs: [DiscoverySubject: Run] = [:]
    private var nextNumber = 0
    private var current = DiscoveryView()
    /// What is to be told of.
    private var state = DesiredState()
    private let memory: (any DiscoveryMemory)?
    /// Under way while something is to be kept, or being so.
    private var keeping: Task<Void, Never>?
    private var kept: [DiscoverySubject: DiscoveredSet] = [:]
    /// What was last said of each listener, so that it is said once.
    private var remarks: [String: Remark] = [:]

    /// How long sets are gathered after a change: when many endpoints come and go, a few changes do for
    /// all.
    private static let patience = Duration.milliseconds(25)
    /// When a change that could not be carried out is tried again.
    private static let retryDelay = Duration.seconds(1)

    /// How long a start waits for what is remembered.
    private static let recallDelay = Duration.milliseconds(250)
    /// What is found is kept at most this often, which is more often than receivers come and go for good.
    private static let keepingInterval = Duration.seconds(1)

    /// - Parameters:
    ///   - memory: what keeps what is found for the next process; nil: nothing does.
    ///   - make: a source that has not begun.
    public init(
        logger: Logger, memory: (any DiscoveryMemory)? = nil,
        make: @escaping @Sendable (DiscoverySubject) -> any DiscoverySource
    ) {
        self.logger = logger
        self.memory = memory
        self.make = make
    }

    /// Looks up what the listeners of these states name, and nothing else, from now on. A source that
    /// ran before goes on.
    public func follow(_ states: [DesiredState]) {
        let wanted = states.reduce(into: Set()) { $0.formUnion($1.subjects) }
        for (subject, run) in runs where !wanted.contains(subject) {
            run.task.cancel()
            runs[subject] = nil
            current.sets[subject] = nil
        }
        for subject in wanted.sorted() where runs[subject] == nil {
            nextNumber += 1
            let (source, number, mailbox) = (make(subject), nextNumber, mailbox)
            let task = Task { await source.run { mailbox.put($0, of: number) } }
            runs[subject] = Run(number: number, source: source, task: task)
        }
        state = states.last ?? DesiredState()
        let names = Set(state.listeners.map(\.name))
        remarks = remarks.filter { names.contains($0.key) }
    }

    /// Waits until something is known of all these subjects, though not for longer than `limit`.
    ///
    /// - Parameter isStart: what the process before this one has kept does for those of which nothing is known
    ///   soon, and none is waited for that has had a failure.
    public func settle(
        _ subjects: Set<DiscoverySubject>, within limit: Duration, isStart: Bool = false
    ) async {
        let begin = ContinuousClock.now
        let remembered = isStart ? memory?.recall(subjects) ?? [:] : [:]
        collect()
        while !missing(subjects, isStart, remembered, for: .now - begin).isEmpty,
            ContinuousClock.now < begin + limit
        {
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return }
            collect()
        }
        let unknown = subjects.subtracting(current.sets.keys).sorted()
        for subject in unknown {
            guard let set = remembered[subject] else {
                logger.warning(
                    "\(subject.voice): no answer yet, and nobody is known to receive until there is one",
                    metadata: ["source": "\(subject)"])
                continue
            }
            current.sets[subject] = set
            logger.warning(
                "\(subject.voice): no answer yet, the receivers of before the start stay in force",
                metadata: ["source": "\(subject)", "receivers": "\(set.endpoints.count)"])
        }
    }

    /// Whom to wait for.
    private func missing(
        _ subjects: Set<DiscoverySubject>, _ isStart: Bool,
        _ remembered: [DiscoverySubject: DiscoveredSet], for time: Duration
    ) -> Set<DiscoverySubject> {
        subjects.filter { subject in
            if current.sets[subject] != nil { return false }
            if time > Self.recallDelay, remembered[subject] != nil { return false }
            return !isStart || runs[subject]?.source.status.errors.isEmpty != false
        }
    }

    public func view() -> DiscoveryView { current }

    /// Takes what is found as it comes, until the task is cancelled.
    ///
    /// - Parameter act: called when the view may be another one: brings it into force, and returns whether
    ///   that worked. When it did not, it is called again. Others look at the view meanwhile, so what is in
    ///   force is not known here.
    public func run(_ act: @Sendable () async -> Bool) async {
        for await _ in mailbox.arrivals {
            collect()
            let isFollowed = await act()
            // What there is to say comes after what there is to do.
            remark()
            if isFollowed {
                keepSoon()
                guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
            } else {
                guard (try? await Task.sleep(for: Self.retryDelay)) != nil else { return }
                mailbox.knock()
            }
        }
    }

    private func keepSoon() {
        guard let memory, keeping == nil, current.sets != kept else { return }
        keeping = Task {
            try? await Task.sleep(for: Self.keepingInterval)
            await keepNow(in: memory)
            keeping = nil
            if !Task.isCancelled { keepSoon() }
        }
    }

    private func keepNow(in memory: any DiscoveryMemory) async {
        guard current.sets != kept else { return }
        kept = current.sets
        await Self.keep(kept, in: memory)
    }

    /// Elsewhere than on the actor, which others wait for.
    @concurrent private static func keep(
        _ sets: [DiscoverySubject: DiscoveredSet], in memory: any DiscoveryMemory
    ) async { memory.keep(sets) }

    /// Ends every source.
    ///
    /// - Parameter isFollowed: whether another process does from now on what this one did, and keeps what it finds.
    public func stop(isFollowed: Bool = false) async {
        keeping?.cancel()
        await keeping?.value
        if let memory, !isFollowed { await keepNow(in: memory) }
        let ending = runs.values.map(\.task)
        runs = [:]
        for task in ending { task.cancel() }
        for task in ending { await task.value }
    }

    /// What has been found and been through, for metrics.
    public var report: DiscoveryReport {
        let loops = state.apply(current).loops
        return DiscoveryReport(
            sources: runs.sorted { $0.key < $1.key }.map { subject, run in
                DiscoveryReport.Source(
                    subject: subject, status: run.source.status,
                    endpoints: current.sets[subject]?.states ?? [:])
            },
            unused: state.listeners.filter { $0.discovery != nil }.reduce(into: [:]) {
                $0[$1.name] = choice(for: $1).unused(loops: loops[$1.name] ?? 0)
            })
    }

    private func collect() {
        let found = mailbox.take()
        guard !found.isEmpty else { return }
        for (subject, run) in runs {
            if let set = found[run.number] { current.sets[subject] = set }
        }
    }

    private func choice(for listener: Listener) -> ReceiverChoice {
        let set = listener.discovery.flatMap { current.sets[$0.receivers] }
        return ReceiverChoice(for: listener, among: set)
    }

    /// Says what is worth a word in the log.
    private func remark() {
        let loops = state.apply(current).loops
        for listener in state.listeners {
            guard let discovery = listener.discovery, current.sets[discovery.receivers] != nil
            else { continue }
            let remark = Remark(choice(for: listener), loops: loops[listener.name] ?? 0)
            remark.tell(of: listener, discovery, after: remarks[listener.name], logger)
            remarks[listener.name] = remark
        }
    }
}

extension ReceiverChoice {
    /// - Parameter loops: how many of the chosen lead back to the listener.
    func unused(loops: Int) -> [DiscoveryReport.Unused: Int] {
        [.surplus: surplus, .loop: loops, .unsuitable: unreached]
    }
}
