// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Logging

// How the planes get from one state to the next: all of them, or none.

extension Reconciler {
    /// Nothing changes hands between planes, so none needs to wait for another: each waits for the kernel and
    /// for workers, and packets meet the new receivers in every mode at about the same moment.
    ///
    /// - Returns: the state, with its slot tables.
    func moveTogether(
        to desired: DesiredState
    ) async throws(PlaneError) -> DesiredState {
        let (planes, active) = (planes, active)
        let tables = Task { await Self.withTables(desired, after: active) }
        let errors = await withTaskGroup(of: (Int, PlaneError?).self) { group in
            for (place, plane) in planes.enumerated() {
                group.addTask {
                    await plane.anticipate(Self.change(for: plane, from: active, to: desired))
                    let desired = await tables.value
                    do throws(PlaneError) {
                        try await Self.move(plane, from: active, to: desired)
                        return (place, nil)
                    } catch {
                        return (place, error)
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let desired = await tables.value
        guard let first = errors.min(by: { $0.key < $1.key }) else { return desired }
        let reached = planes.indices.map { errors[$0] == nil ? desired : active }
        await rollBack(reached, inverting: Array(planes.indices))
        throw first.value
    }

    /// Whether the next change takes over what another process has.
    private var isTakingOver: Bool { hasOldProcess && active.listeners.isEmpty }

    /// Whom a listener of another mode succeeds goes when that is there.
    func movePlaneByPlane(to desired: DesiredState) async throws(PlaneError) {
        var steps = desired.steps(from: active)
        // What another process has passed is taken in turn; it goes on if that fails.
        if !isTakingOver {
            try await check(desired)
            do throws(PlaneError) {
                for step in steps.dropLast() { try await check(step) }
            } catch {
                logger.info(
                    "listeners cannot stand beside those that succeed them",
                    metadata: ["error": "\(error)"])
                steps = [desired]
            }
        }
        warnOfGaps(steps)
        try await move(by: steps)
    }

    private func warnOfGaps(_ steps: [DesiredState]) {
        for (previous, next) in zip([active] + steps, steps) {
            let early = next.leavingEarly(from: previous)
            guard !early.isEmpty else { continue }
            logger.warning(
                "listeners go before those of other modes that succeed them; there may be a gap",
                metadata: ["listeners": "\(early.map(\.name).sorted().joined(separator: ","))"])
        }
    }

    private func check(_ desired: DesiredState) async throws(PlaneError) {
        for plane in planes {
            let change = Self.change(for: plane, from: active, to: desired)
            if !change.isEmpty { try await plane.check(change) }
        }
    }

    /// All of the steps or none.
    private func move(by steps: [DesiredState]) async throws(PlaneError) {
        var reached = planes.map { _ in active }
        var previous = active
        for step in steps {
            let order = moveOrder(from: previous, to: step)
            for (turn, place) in order.enumerated() {
                do throws(PlaneError) {
                    try await Self.move(planes[place], from: reached[place], to: step)
                } catch {
                    if isTakingOver {
                        for place in order[..<turn] { await planes[place].relinquish() }
                    } else {
                        await rollBack(reached, inverting: order)
                    }
                    throw error
                }
                reached[place] = step
            }
            previous = step
        }
    }

    /// The planes in the order in which they move: whoever frees a hook before who takes it.
    private func moveOrder(from previous: DesiredState, to next: DesiredState) -> [Int] {
        let yielding = next.modesYieldingHooks(from: previous)
        let isFirst = planes.map { yielding.contains(type(of: $0).mode) }
        return planes.indices.filter { isFirst[$0] } + planes.indices.filter { !isFirst[$0] }
    }

    private static func change(
        for plane: any DataPlane, from old: DesiredState, to new: DesiredState
    ) -> Change {
        let mode = type(of: plane).mode
        return Change.diff(from: old.carried(by: mode), to: new.carried(by: mode))
    }

    private static func move(
        _ plane: any DataPlane, from old: DesiredState, to new: DesiredState
    ) async throws(PlaneError) {
        let change = change(for: plane, from: old, to: new)
        if !change.isEmpty { try await plane.apply(change) }
    }

    /// - Parameters:
    ///   - reached: where each plane is.
    ///   - order: that in which they got there.
    private func rollBack(_ reached: [DesiredState], inverting order: [Int]) async {
        for place in order.reversed() {
            let plane = planes[place]
            do throws(PlaneError) {
                try await Self.move(plane, from: reached[place], to: active)
            } catch {
                logger.error(
                    "a plane could not return to the state before",
                    metadata: [
                        "mode": "\(type(of: plane).mode.rawValue)", "error": "\(error)",
                    ])
            }
        }
    }
}
