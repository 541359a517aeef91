// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import Logging

extension Daemon {
    /// Has the downstreams of a configuration probed, if it wants that.
    func probe(_ wanted: Configuration) async throws(HealthError) {
        let policy = wanted.health.policy
        let state = wanted.state
        // Receivers that nobody probes need not be made out.
        let followed = policy == nil ? state : state.applying(await discovery.view())
        try await health.follow(policy, followed)
    }

    /// Undoes `probe`: the downstreams in force are probed again.
    func leadProbesBack() async {
        do throws(HealthError) {
            try await probe(configuration)
        } catch {
            logger.error("health checks have ended", metadata: ["error": "\(error)"])
        }
    }

    /// Leads the data planes to the shares that receivers have now which have not been ready for long.
    ///
    /// - Returns: whether they followed; everything is as it was otherwise.
    func shareRises() async -> Bool {
        guard successor == nil else { return false }
        do throws(PlaneError) {
            try await reconciler.followHealth()
            return true
        } catch {
            logger.error("a rise of shares is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Leads the data planes to the receivers that are healthy now.
    ///
    /// - Returns: whether they followed; everything is as it was otherwise.
    func healthChanged() async -> Bool {
        guard successor == nil else { return false }
        do throws(PlaneError) {
            try await reconciler.followHealth()
            return true
        } catch {
            logger.error("a change of health is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }
}
