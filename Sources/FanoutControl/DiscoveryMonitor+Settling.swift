// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Logging

// A start, a reload and a takeover wait for the sources that they bring, and each has something else to go on with
// when they do not answer: what the process before has kept, who received before, nothing.

extension DiscoveryMonitor {
    /// How long a start waits for what is remembered.
    private static let recallDelay = Duration.milliseconds(250)

    /// Waits until something is known of all that a state looks up, though not for longer than `limit`.
    public func settle(_ state: DesiredState, within limit: Duration) async {
        let isSettled = await wait(limit) { _ in self.unanswered(state.subjects).isEmpty }
        if isSettled { tell(of: unanswered(state.subjects), in: state) }
    }

    /// The same at a start, which goes on with what the process before this one has kept: soon, and without waiting
    /// for those of which nothing is kept and that have had a failure.
    public func settleStart(_ state: DesiredState, within limit: Duration) async {
        let unknown = state.unknownSubjects(in: remembered)
        let isSettled = await wait(limit) { time in
            self.unanswered(state.subjects).allSatisfy { subject in
                if time > Self.recallDelay, !unknown.contains(subject) { return true }
                return self.runs[subject]?.source.status.errors.isEmpty == false
            }
        }
        guard isSettled else { return }
        let silent = unanswered(state.subjects)
        for subject in silent { current.sets[subject] = remembered.sets[subject] }
        current.standIns = remembered.standIns.filter { !current.isAnswered($0.key.subject) }
        tell(of: silent, in: state)
    }

    /// The same at a reload, of what listeners have not looked up before. Who received for a listener before does
    /// until its source has answered.
    ///
    /// - Parameter former: the state that is in force, which is followed as well.
    /// - Returns: what the log says of sources that have not.
    public func settle(
        _ state: DesiredState, after former: DesiredState, within limit: Duration
    ) async -> [String] {
        let new = Set(
            state.standInPlaces.subtracting(former.standInPlaces).map(\.subject))
        guard await wait(limit, until: { _ in self.unanswered(new).isEmpty }) else { return [] }
        let standIns = state.standIns(after: former, current)
        if !standIns.isEmpty {
            current.standIns.merge(standIns) { $1 }
            // They are kept for the next process like what is found, once they are in force.
            mailbox.knock()
        }
        return tell(of: unanswered(new), in: state)
    }

    /// - Parameter isSettled: whether that will do, after this time.
    /// - Returns: false when the task was cancelled.
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

    /// Says how listeners do without an answer, each of them as it is.
    ///
    /// - Returns: the same, in lines.
    @discardableResult
    private func tell(of subjects: Set<DiscoverySubject>, in state: DesiredState) -> [String] {
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
            return [tell(of: subject, served, true), tell(of: subject, others, false)]
                .compactMap { $0 }
        }
    }

    /// - Parameters:
    ///   - listeners: those that are alike in this; none: there is nothing to say.
    ///   - isServed: whether they have something of before.
    private func tell(
        of subject: DiscoverySubject, _ listeners: [Listener], _ isServed: Bool
    ) -> String? {
        guard let first = listeners.first else { return nil }
        let isReceivers = first.discovery?.receivers == subject
        let words = "no answer yet, " + Self.words(isReceivers, isServed)
        let names = listeners.map(\.name).joined(separator: ",")
        var fields: Logger.Metadata = ["source": "\(subject)", "listeners": "\(names)"]
        if isReceivers, isServed {
            let receivers = Set(listeners.flatMap(\.downstreams).map(\.endpoint))
            fields["receivers"] = "\(receivers.count)"
        }
        logger.warning("\(subject.voice): \(words)", metadata: fields)
        return "\(subject): \(words) (listeners: \(names))"
    }

    private static func words(_ isReceivers: Bool, _ isServed: Bool) -> String {
        switch (isReceivers, isServed) {
        case (true, true): "the receivers of before stay in force"
        case (true, false): "and nobody is known to receive until there is one"
        case (false, true): "the addresses of before stay served"
        case (false, false): "and no address of it is served until there is one"
        }
    }
}
