// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Logging

extension Reconciler {
    /// Removes what killed daemons left in the kernel and no plane has taken over.
    public func removeLeftovers() async {
        await begin()
        defer { finish() }
        for plane in planes { await plane.removeLeftovers() }
    }

    /// Leaves everything to another process; see `DataPlane.relinquish`.
    ///
    /// - Parameter modes: of these planes.
    public func relinquish(_ modes: Set<ForwardingMode>) async {
        await begin()
        defer { finish() }
        for plane in planes where modes.contains(type(of: plane).mode) { await plane.relinquish() }
    }

    /// Undoes `relinquish`. A plane that cannot have back what it left is one of an error in the log, and
    /// keeps nobody else from going on.
    public func reclaim(_ modes: Set<ForwardingMode>) async {
        await begin()
        defer { finish() }
        for plane in planes where modes.contains(type(of: plane).mode) {
            do throws(PlaneError) {
                try await plane.reclaim()
            } catch {
                logger.error(
                    "a plane cannot take back what it had left to another process",
                    metadata: ["mode": "\(type(of: plane).mode.rawValue)", "error": "\(error)"])
            }
        }
    }
}
