// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging

/// Runs a source for each subject that a listener names, and collects the results for the reconciler.
public actor DiscoveryMonitor {
    struct Run {
        let number: Int
        let source: any DiscoverySource
        let task: Task<Void, Never>
    }

    private let make: @Sendable (DiscoverySubject, DiscoveredSet?) -> any DiscoverySource
    private let hostAddresses: @Sendable () -> Set<IPAddress>?
    let logger: Logger
    let signal: ChangeSignal
    /// The results of sources, by the number of their run, so that an ended source is not confused with a later
    /// one.
    private let mailbox: Mailbox<[Int: DiscoveredSet]>
    private(set) var runs: [DiscoverySubject: Run] = [:]
    private var nextNumber = 0
    var current = DiscoveryView()
    /// What an earlier process saved, for use at start-up.
    private(set) var kept = DiscoveryView()
    /// The state whose findings are logged.
    private var state = DesiredState()
    /// Whether a listener takes datagrams to any host address, so that a receiver may be that listener.
    private var concernsOwnAddresses = false
    private let addressInterval: Duration
    /// Saves the results for the next process.
    let keeper: DiscoveryKeeper
    /// What was last logged for each listener, so that it is logged once.
    private var findings: [String: DiscoveryFindings] = [:]

    /// Whether the view has changed in another way than by results of sources since `takeFound`.
    var hasChanged = false

    /// - Parameters:
    ///   - signal: wakes the reconciler.
    ///   - hostAddresses: the host's current addresses; nil: unknown, the previous ones are used.
    ///   - addressInterval: the interval for checking them.
    ///   - make: creates a source that has not started, given what an earlier process found.
    public init(
        logger: Logger, signal: ChangeSignal = ChangeSignal(),
        hostAddresses: @escaping @Sendable () -> Set<IPAddress>? = { [] },
        addressInterval: Duration = .seconds(2),
        make: @escaping @Sendable (DiscoverySubject, DiscoveredSet?) -> any DiscoverySource
    ) {
        self.logger = logger
        self.signal = signal
        mailbox = Mailbox([:], signal: signal)
        self.hostAddresses = hostAddresses
        self.addressInterval = addressInterval
        self.make = make
        keeper = DiscoveryKeeper(logger)
    }

    /// Saves what is found from now on, once it is active and `run` runs; nil: nothing is saved.
    public func remember(in memory: (any DiscoveryMemory)?) async {
        await keeper.remember(in: memory)
    }

    /// Looks up exactly what the listeners of these states name. Sources that are still needed continue.
    ///
    /// - Parameter remembered: what an earlier process saved.
    public func follow(
        _ states: [DesiredState], after kept: DiscoveryView = DiscoveryView()
    ) {
        self.kept = kept
        let wanted = states.reduce(into: Set()) { $0.formUnion($1.subjects) }
        for (subject, run) in runs where !wanted.contains(subject) {
            run.task.cancel()
            runs[subject] = nil
            current.sets[subject] = nil
        }
        for subject in wanted.sorted() where runs[subject] == nil {
            nextNumber += 1
            let (source, number, mailbox) = (
                make(subject, kept.sets[subject]), nextNumber, mailbox
            )
            let task = Task { await source.run { set in mailbox.put { $0[number] = set } } }
            runs[subject] = Run(number: number, source: source, task: task)
        }
        let places = states.reduce(into: Set()) { $0.formUnion($1.lastKnownPlaces) }
        current.lastKnowns = current.lastKnowns.filter { places.contains($0.key) }
        state = states.last ?? DesiredState()
        concernsOwnAddresses = states.contains { $0.concernsOwnAddresses }
        current.ownAddresses = ownAddresses
        let names = Set(state.listeners.map(\.name))
        findings = findings.filter { names.contains($0.key) }
    }

    public func view() -> DiscoveryView { current }

    /// Takes the results since the last call.
    ///
    /// - Returns: whether the view may have changed.
    func takeFound() -> Bool {
        collect()
        defer { hasChanged = false }
        return hasChanged
    }

    /// Saves the view for the next process, once it is applied.
    func keep() async { await keeper.keep(current) }

    /// Stops every source.
    ///
    /// - Parameter keeps: whether to save the last findings. False for a process that never applied them, and for one
    ///   whose successor saves its own.
    public func stop(keeps: Bool) async {
        await keeper.stop(keeps: keeps)
        let ending = runs.values.map(\.task)
        runs = [:]
        for task in ending { task.cancel() }
        for task in ending { await task.value }
    }

    /// The results and state of discovery, for metrics.
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

    func collect() {
        let found = mailbox.take()
        guard !found.isEmpty else { return }
        for (subject, run) in runs {
            if let set = found[run.number] { current.sets[subject] = set }
        }
        current.lastKnowns = current.lastKnowns.filter { !current.isAnswered($0.key.subject) }
        current.ownAddresses = ownAddresses
        hasChanged = true
    }

    /// Polls the host's addresses until the task is cancelled: no source reports them.
    func watchAddresses() async {
        while (try? await Task.sleep(for: addressInterval)) != nil {
            let now = ownAddresses
            guard now != current.ownAddresses else { continue }
            current.ownAddresses = now
            noteChange()
        }
    }

    func noteChange() {
        hasChanged = true
        signal.send()
    }

    /// The host's addresses, if they matter.
    private var ownAddresses: Set<IPAddress> {
        concernsOwnAddresses ? hostAddresses() ?? current.ownAddresses : []
    }

    private func choice(for listener: Listener) -> ReceiverChoice {
        let set = listener.discovery.flatMap { current.sets[$0.receivers] }
        return ReceiverChoice(for: listener, among: set)
    }

    /// Logs changes in the findings of each listener.
    func logFindings() {
        let leftOut = state.apply(current).leftOut
        for listener in state.listeners {
            guard let discovery = listener.discovery, current.sets[discovery.receivers] != nil
            else { continue }
            let now = DiscoveryFindings(choice(for: listener), leftOut: leftOut[listener.name])
            now.log(listener, discovery, after: findings[listener.name], logger)
            findings[listener.name] = now
        }
    }
}

extension DesiredState {
    /// Whether a discovered receiver may be a wildcard listener of this daemon.
    fileprivate var concernsOwnAddresses: Bool {
        listeners.contains { $0.discovery != nil }
            && listeners.contains { $0.interface == nil && $0.bind.address.isWildcard }
    }
}

extension ReceiverChoice {
    /// - Parameter leftOut: how many of the chosen receivers cannot be used, by reason.
    func unused(_ leftOut: [DiscoveryReport.Unused: Int]?) -> [DiscoveryReport.Unused: Int] {
        [
            .surplus: surplus, .loop: leftOut?[.loop] ?? 0, .shared: leftOut?[.shared] ?? 0,
            .unsuitable: unreached,
        ]
    }
}

// A start, a reload and a takeover wait for their new sources. If these do not answer, a takeover or start uses the
// receivers that the old process saved, a reload the previous ones, a first start none.

extension DiscoveryMonitor {
    /// How long a start waits before it uses what was saved.
    private static let recallDelay = Duration.milliseconds(250)

    /// Waits until every subject of a state has an answer, for at most `limit`.
    public func settle(_ state: DesiredState, within limit: Duration) async {
        let isSettled = await wait(limit) { _ in self.unanswered(state.subjects).isEmpty }
        if isSettled { logUnanswered(unanswered(state.subjects), in: state) }
    }

    /// The same at a start, which uses what the old process saved. It does not wait for sources that have failed
    /// and have nothing saved.
    public func settleStart(_ state: DesiredState, within limit: Duration) async {
        let unknown = state.unknownSubjects(in: kept)
        let isSettled = await wait(limit) { time in
            self.unanswered(state.subjects).allSatisfy { subject in
                if time > Self.recallDelay, !unknown.contains(subject) { return true }
                return self.runs[subject]?.source.status.errors.isEmpty == false
            }
        }
        guard isSettled else { return }
        let silent = unanswered(state.subjects)
        for subject in silent { current.sets[subject] = kept.sets[subject] }
        current.lastKnowns = kept.lastKnowns.filter { !current.isAnswered($0.key.subject) }
        logUnanswered(silent, in: state)
    }

    /// The same at a reload, for subjects that are new to a listener. Its previous receivers stay in use until the
    /// source answers.
    ///
    /// - Parameter previous: the active state, which is followed as well.
    /// - Returns: log lines about sources without an answer.
    public func settle(
        _ state: DesiredState, after previous: DesiredState, within limit: Duration
    ) async -> [String] {
        let new = Set(
            state.lastKnownPlaces.subtracting(previous.lastKnownPlaces).map(\.subject))
        guard await wait(limit, until: { _ in self.unanswered(new).isEmpty }) else { return [] }
        let lastKnowns = state.lastKnowns(after: previous, current)
        if !lastKnowns.isEmpty {
            current.lastKnowns.merge(lastKnowns) { $1 }
            // They are saved for the next process like findings, once they are active.
            noteChange()
        }
        return logUnanswered(unanswered(new), in: state)
    }

    /// - Parameter isSettled: whether the current state suffices after this time.
    /// - Returns: false if the task was cancelled.
    private func wait(
        _ limit: Duration, until isSettled: (Duration) -> Bool
    ) async -> Bool {
        let begin = ContinuousClock.now
        collect()
        while !isSettled(.now - begin), ContinuousClock.now < begin + limit {
            guard (try? await Task.sleep(for: .milliseconds(5))) != nil else { return false }
            collect()
        }
        return true
    }

    private func unanswered(_ subjects: Set<DiscoverySubject>) -> Set<DiscoverySubject> {
        subjects.subtracting(current.sets.keys)
    }

    /// Logs what listeners use until their sources answer.
    ///
    /// - Returns: the same as lines.
    @discardableResult
    private func logUnanswered(_ subjects: Set<DiscoverySubject>, in state: DesiredState)
        -> [String]
    {
        guard !subjects.isEmpty else { return [] }
        let applied = state.applying(current)
        return subjects.sorted().flatMap { subject in
            var served: [Listener] = []
            var others: [Listener] = []
            for (written, listener) in zip(state.listeners, applied.listeners) {
                guard let discovery = listener.discovery, discovery.subjects.contains(subject)
                else { continue }
                let isServed =
                    discovery.receivers == subject
                    ? !listener.downstreams.isEmpty : listener.served != written.served
                if isServed { served.append(listener) } else { others.append(listener) }
            }
            return [logUnanswered(subject, served, true), logUnanswered(subject, others, false)]
                .compactMap { $0 }
        }
    }

    /// - Parameters:
    ///   - listeners: listeners in the same situation; if empty, nothing is logged.
    ///   - isServed: whether they have previous receivers or addresses.
    private func logUnanswered(
        _ subject: DiscoverySubject, _ listeners: [Listener], _ isServed: Bool
    ) -> String? {
        guard let first = listeners.first else { return nil }
        let isReceivers = first.discovery?.receivers == subject
        let text = "no answer yet, " + Self.text(isReceivers, isServed)
        let names = listeners.map(\.name).joined(separator: ",")
        var fields: Logger.Metadata = ["source": "\(subject)", "listeners": "\(names)"]
        if isReceivers, isServed {
            let receivers = Set(listeners.flatMap(\.downstreams).map(\.endpoint))
            fields["receivers"] = "\(receivers.count)"
        }
        logger.warning("\(subject.logPrefix): \(text)", metadata: fields)
        return "\(subject): \(text) (listeners: \(names))"
    }

    private static func text(_ isReceivers: Bool, _ isServed: Bool) -> String {
        switch (isReceivers, isServed) {
        case (true, true): "the last-known receivers stay active"
        case (true, false): "and no receiver is known until there is one"
        case (false, true): "the previous addresses stay served"
        case (false, false): "and no address of it is served until there is one"
        }
    }
}
