// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import Logging

extension Daemon {
    /// Has the health of a configuration's downstreams followed, by probes and by refusals, if it wants that.
    func probe(_ wanted: Configuration) async throws(HealthError) {
        let (policy, passive) = (wanted.health.policy, wanted.health.passivePolicy)
        let state = wanted.state
        // Receivers whose health is not followed need not be made out.
        let isFollowed = policy != nil || passive != nil
        let followed = isFollowed ? state.applying(await discovery.view()) : state
        try await health.follow(policy, passive: passive, followed)
    }

    /// Undoes `probe`: the downstreams in force are probed again.
    func rollBackProbes() async {
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
        guard newProcess == nil else { return false }
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
        guard newProcess == nil else { return false }
        do throws(PlaneError) {
            try await reconciler.followHealth()
            return true
        } catch {
            logger.error("a change of health is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }
}
