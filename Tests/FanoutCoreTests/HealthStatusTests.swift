// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The health status of a target", .tags(.unit))
struct HealthStatusTests {
    /// Results as letters, `+` a success and `-` a failure, and the status after each: `U`p or `D`own.
    struct Course: Sendable, CustomTestStringConvertible {
        let rise: Int
        let fall: Int
        let results: String
        let healthStatuses: String

        var testDescription: String { "rise \(rise), fall \(fall): \(results)" }
    }

    static let courses = [
        Course(rise: 1, fall: 3, results: "---", healthStatuses: "UUD"),
        Course(rise: 1, fall: 3, results: "--+--+--", healthStatuses: "UUUUUUUU"),
        Course(rise: 1, fall: 3, results: "----+", healthStatuses: "UUDDU"),
        Course(rise: 1, fall: 1, results: "-+-+", healthStatuses: "DUDU"),
        Course(rise: 3, fall: 2, results: "--++-+++-", healthStatuses: "UDDDDDDUU"),
        Course(rise: 2, fall: 2, results: "+-+--+-++", healthStatuses: "UUUUDDDDU"),
    ]

    @Test("follows rise and fall", arguments: courses)
    func thresholds(course: Course) {
        let policy = HealthPolicy(rise: course.rise, fall: course.fall)
        var status = HealthStatus()
        var healthStatuses = ""
        for result in course.results {
            let before = status.isHealthy
            let change = status.note(result == "+", policy)
            healthStatuses += status.isHealthy ? "U" : "D"
            if before != status.isHealthy {
                #expect(change == (status.isHealthy ? .healthy : .unhealthy))
            } else {
                #expect(change != .unhealthy)
            }
        }
        #expect(healthStatuses == course.healthStatuses)
    }

    @Test("the first success of a target is reported, the next is not")
    func firstSuccess() {
        var status = HealthStatus()
        let policy = HealthPolicy()
        #expect(status.note(false, policy) == nil)
        #expect(status.note(true, policy) == .healthy)
        #expect(status.note(true, policy) == nil)
    }

    @Test("the third fall and each further one doubles the successes to return, up to 16 times")
    func damping() {
        let policy = HealthPolicy(rise: 1, fall: 1)
        var status = HealthStatus()
        var needed: [Int] = []
        for _ in 0..<8 {
            #expect(status.note(false, policy) == .unhealthy)
            var count = 0
            repeat { count += 1 } while status.note(true, policy) == nil
            needed.append(count)
        }
        #expect(needed == [1, 1, 2, 4, 8, 16, 16, 16])
    }

    @Test("20 consecutive results that agree cancel a fall", arguments: [true, false])
    func forgiving(up: Bool) {
        let policy = HealthPolicy(rise: 1, fall: 1)
        var status = HealthStatus()
        for _ in 0..<4 {
            _ = status.note(false, policy)
            while status.note(true, policy) == nil {}
        }
        if !up { _ = status.note(false, policy) }
        let falls = status.falls
        for _ in 0..<19 { _ = status.note(up, policy) }
        #expect(status.falls == falls)
        _ = status.note(up, policy)
        #expect(status.falls == falls - 1)
        for _ in 0..<400 { _ = status.note(up, policy) }
        #expect(status.falls == 0)
        #expect(status.successesNeeded(policy) == 1)
    }

    @Test(
        "whatever a receiver does, the changes it costs are bounded",
        arguments: [UInt64(1), 2, 3, 4, 5], [(1, 1), (1, 3), (2, 2)])
    func churn(seed: UInt64, thresholds: (Int, Int)) {
        // The worst case: results that flip as soon as the status has.
        let policy = HealthPolicy(rise: thresholds.0, fall: thresholds.1)
        var (spiteful, random) = (HealthStatus(), HealthStatus())
        var state = seed
        var changes = (spiteful: 0, random: 0)
        let probes = 3600
        for _ in 0..<probes {
            if spiteful.note(!spiteful.isHealthy, policy) != nil { changes.spiteful += 1 }
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let before = random.isHealthy
            _ = random.note(state >> 63 == 1, policy)
            if before != random.isHealthy { changes.random += 1 }
        }
        // A fall and a return each 16 times `rise` probes, and the few at the beginning.
        let bound = 2 * (probes / (16 * thresholds.0 + thresholds.1) + 6)
        #expect(changes.spiteful <= bound && changes.random <= bound, "\(changes)")
    }
}
