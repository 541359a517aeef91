// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// What is wanted and what is in force, at one moment.
public struct StateView: Equatable, Sendable {
    /// What the configuration wants, whoever is healthy or drained.
    public let wanted: DesiredState
    /// What the data planes do.
    public let inForce: DesiredState
    public let drains: DrainList
}

extension Reconciler {
    public var view: StateView { StateView(wanted: wanted, inForce: inForce, drains: drains) }

    /// Takes receivers out of service, or puts them back.
    ///
    /// - Returns: what changed in the data planes.
    /// - Throws: the `PlaneError` of the plane that could not follow; everything is as it was then.
    @discardableResult
    public func drain(
        _ entries: Set<DrainList.Entry>, _ isDrained: Bool
    ) async throws(PlaneError) -> Change {
        await begin()
        defer { finish() }
        let before = drains
        if isDrained {
            drains.entries.formUnion(entries)
        } else {
            drains.entries.subtract(entries)
        }
        do throws(PlaneError) {
            return try await lead(to: wanted)
        } catch {
            drains = before
            throw error
        }
    }

    /// Whom a name means: receivers that are there, or that are drained and may come back.
    public func entries(named name: String) -> Set<DrainList.Entry> {
        let present = DrainList.entries(named: name, in: inForce)
        guard present.isEmpty else { return present }
        return drains.entries.filter { $0.description == name || $0.downstream == name }
    }

    /// What keeps datagrams from their way, over all planes.
    public func obstructions() async -> [Obstruction] {
        var all: [Obstruction] = []
        for plane in planes { all += await plane.obstructions() }
        return all
    }

    /// Where the data planes are hooked in.
    public func attachments() async -> [Attachment] {
        var all: [Attachment] = []
        for plane in planes { all += await plane.attachments() }
        return all
    }

    /// The receiver that a source of a listener stays with, where its plane remembers sources.
    public func receiver(
        associatedWith source: Endpoint, to destination: Endpoint, of listener: Listener
    ) async -> Endpoint? {
        for plane in planes where type(of: plane).mode == listener.mode {
            return await plane.receiver(
                associatedWith: source, to: destination, of: listener.name)
        }
        return nil
    }

    /// What the workers of every data plane are doing.
    public func progress() async -> [WorkerProgress] {
        var all: [WorkerProgress] = []
        for plane in planes { all += await plane.progress() }
        return all
    }
}
