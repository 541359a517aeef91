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
    private let hostAddresses: @Sendable () -> Set<IPAddress>
    let logger: Logger
    private let mailbox = DiscoveryMailbox()
    private var runs: [DiscoverySubject: Run] = [:]
    private var nextNumber = 0
    private var current = DiscoveryView()
    /// What is to be told of.
    private var state = DesiredState()
    /// What the next process is to know.
    private let keeper: DiscoveryKeeper
    /// What was last said of each listener, so that it is said once.
    private var remarks: [String: Remark] = [:]

    /// How long sets are gathered after a change: when many endpoints come and go, a few changes do for
    /// all.
    private static let patience = Duration.milliseconds(25)
    /// When a change that could not be carried out is tried again.
    private static let retryDelay = Duration.seconds(1)

    /// How long a start waits for what is remembered.
    private static let recallDelay = Duration.milliseconds(250)

    /// - Parameters:
    ///   - hostAddresses: those that the host has just now.
    ///   - make: a source that has not begun.
    public init(
        logger: Logger, hostAddresses: @escaping @Sendable () -> Set<IPAddress> = { [] },
        make: @escaping @Sendable (DiscoverySubject) -> any DiscoverySource
    ) {
        self.logger = logger
        self.hostAddresses = hostAddresses
        self.make = make
        keeper = DiscoveryKeeper(logger)
    }

    /// What keeps what is found from now on, once it is in force and `run` runs; nil: nothing does.
    public func remember(in memory: (any DiscoveryMemory)?) async {
        await keeper.remember(in: memory)
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
        current.ownAddresses = ownAddresses
        let names = Set(state.listeners.map(\.name))
        remarks = remarks.filter { names.contains($0.key) }
    }

    /// Waits until something is known of all these subjects, though not for longer than `limit`.
    ///
    /// - Parameters:
    ///   - former: who receives in the meantime, of what nothing is known by then.
    ///   - isStart: what the process before this one has kept does, too, for those of which nothing is known
    ///     soon, and none is waited for that has had a failure.
    /// - Returns: what the log says of those of which nothing is known.
    @discardableResult
    public func settle(
        _ subjects: Set<DiscoverySubject>, within limit: Duration,
        former: [DiscoverySubject: DiscoveredSet] = [:], isStart: Bool = false
    ) async -> [String] {
        let begin = ContinuousClock.now
        let remembered = isStart ? await keeper.recall(subjects) : former
        collect()
        while !missing(subjects, isStart, remembered, for: .now - begin).isEmpty,
            ContinuousClock.now < begin + limit
        {
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return [] }
            collect()
        }
        return subjects.subtracting(current.sets.keys).sorted().map { subject in
            let words: String
            var fields: Logger.Metadata = ["source": "\(subject)"]
            if let set = remembered[subject] {
                current.sets[subject] = set
                words = "no answer yet, the receivers of before stay in force"
                fields["receivers"] = "\(set.endpoints.count)"
            } else {
                words = "no answer yet, and nobody is known to receive until there is one"
            }
            logger.warning("\(subject.voice): \(words)", metadata: fields)
            return "\(subject): \(words)"
        }
    }

    /// Whom to wait for.
    private func missing(
        _ subjects: Set<DiscoverySubject>, _ isStart: Bool,
        _ remembered: [DiscoverySubject: DiscoveredSet], for time: Duration
    ) -> Set<DiscoverySubject> {
        subjects.filter { subject in
            if current.sets[subject] != nil { return false }
            if isStart, time > Self.recallDelay, remembered[subject] != nil { return false }
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
        // What was found before is in force by now.
        await keeper.keep(current.sets)
        for await _ in mailbox.arrivals {
            collect()
            let isFollowed = await act()
            // What there is to say comes after what there is to do.
            remark()
            if isFollowed {
                await keeper.keep(current.sets)
                guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
            } else {
                guard (try? await Task.sleep(for: Self.retryDelay)) != nil else { return }
                mailbox.knock()
            }
        }
    }

    /// Ends every source.
    ///
    /// - Parameter keeps: whether what was found last is kept. It is not by a process that never had it in force,
    ///   nor by one that another follows, which keeps what it finds itself.
    public func stop(keeps: Bool) async {
        await keeper.stop(keeps: keeps)
        let ending = runs.values.map(\.task)
        runs = [:]
        for task in ending { task.cancel() }
        for task in ending { await task.value }
    }

    /// What has been found and been through, for metrics.
    public var report: DiscoveryReport {
        let leftOut = state.apply(current).leftOut
        return DiscoveryReport(
            sources: runs.sorted { $0.key < $1.key }.map { subject, run in
                DiscoveryReport.Source(
                    subject: subject, status: run.source.status,
                    endpoints: current.sets[subject]?.states ?? [:])
            },
            unused: state.listeners.filter { $0.discovery != nil }.reduce(into: [:]) {
                $0[$1.name] = choice(for: $1).unused(leftOut[$1.name])
            })
    }

    private func collect() {
        let found = mailbox.take()
        guard !found.isEmpty else { return }
        for (subject, run) in runs {
            if let set = found[run.number] { current.sets[subject] = set }
        }
        current.ownAddresses = ownAddresses
    }

    /// Those of the host, when a listener takes whatever comes to them.
    private var ownAddresses: Set<IPAddress> {
        let isAnyWildcard = state.listeners.contains {
            $0.interface == nil && $0.bind.address.isWildcard
        }
        return isAnyWildcard ? hostAddresses() : []
    }

    private func choice(for listener: Listener) -> ReceiverChoice {
        let set = listener.discovery.flatMap { current.sets[$0.receivers] }
        return ReceiverChoice(for: listener, among: set)
    }

    /// Says what is worth a word in the log.
    private func remark() {
        let leftOut = state.apply(current).leftOut
        for listener in state.listeners {
            guard let discovery = listener.discovery, current.sets[discovery.receivers] != nil
            else { continue }
            let remark = Remark(choice(for: listener), leftOut: leftOut[listener.name])
            remark.tell(of: listener, discovery, after: remarks[listener.name], logger)
            remarks[listener.name] = remark
        }
    }
}

extension ReceiverChoice {
    /// - Parameter leftOut: how many of the chosen cannot be used, by reason.
    func unused(_ leftOut: [DiscoveryReport.Unused: Int]?) -> [DiscoveryReport.Unused: Int] {
        [
            .surplus: surplus, .loop: leftOut?[.loop] ?? 0, .shared: leftOut?[.shared] ?? 0,
            .unsuitable: unreached,
        ]
    }
}
