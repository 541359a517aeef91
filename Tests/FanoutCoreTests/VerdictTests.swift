// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("A verdict on a target", .tags(.unit))
struct VerdictTests {
    /// Results as letters, `+` a success and `-` a failure, and the verdict after each: `U`p or `D`own.
    struct Course: Sendable, CustomTestStringConvertible {
        let rise: Int
        let fall: Int
        let results: String
        let verdicts: String

        var testDescription: String { "rise \(rise), fall \(fall): \(results)" }
    }

    static let courses = [
        Course(rise: 1, fall: 3, results: "---", verdicts: "UUD"),
        Course(rise: 1, fall: 3, results: "--+--+--", verdicts: "UUUUUUUU"),
        Course(rise: 1, fall: 3, results: "----+", verdicts: "UUDDU"),
        Course(rise: 1, fall: 1, results: "-+-+", verdicts: "DUDU"),
        Course(rise: 3, fall: 2, results: "--++-+++-", verdicts: "UDDDDDDUU"),
        Course(rise: 2, fall: 2, results: "+-+--+-++", verdicts: "UUUUDDDDU"),
    ]

    @Test("follows rise and fall", arguments: courses)
    func thresholds(course: Course) {
        let policy = HealthPolicy(rise: course.rise, fall: course.fall)
        var verdict = Verdict()
        var verdicts = ""
        for result in course.results {
            let before = verdict.isHealthy
            let turn = verdict.note(result == "+", policy)
            verdicts += verdict.isHealthy ? "U" : "D"
            if before != verdict.isHealthy {
                #expect(turn == (verdict.isHealthy ? .healthy : .unhealthy))
            } else {
                #expect(turn != .unhealthy)
            }
        }
        #expect(verdicts == course.verdicts)
    }

    @Test("the first success of a target is told, and the next is not")
    func firstSuccess() {
        var verdict = Verdict()
        let policy = HealthPolicy()
        #expect(verdict.note(false, policy) == nil)
        #expect(verdict.note(true, policy) == .healthy)
        #expect(verdict.note(true, policy) == nil)
    }

    @Test("the third fall and each after it doubles what a return takes, up to 16 times")
    func damping() {
        let policy = HealthPolicy(rise: 1, fall: 1)
        var verdict = Verdict()
        var needed: [Int] = []
        for _ in 0..<8 {
            #expect(verdict.note(false, policy) == .unhealthy)
            var count = 0
            repeat { count += 1 } while verdict.note(true, policy) == nil
            needed.append(count)
        }
        #expect(needed == [1, 1, 2, 4, 8, 16, 16, 16])
    }

    @Test("20 results in a row that agree make good for a fall", arguments: [true, false])
    func forgiving(up: Bool) {
        let policy = HealthPolicy(rise: 1, fall: 1)
        var verdict = Verdict()
        for _ in 0..<4 {
            _ = verdict.note(false, policy)
            while verdict.note(true, policy) == nil {}
        }
        if !up { _ = verdict.note(false, policy) }
        let falls = verdict.falls
        for _ in 0..<19 { _ = verdict.note(up, policy) }
        #expect(verdict.falls == falls)
        _ = verdict.note(up, policy)
        #expect(verdict.falls == falls - 1)
        for _ in 0..<400 { _ = verdict.note(up, policy) }
        #expect(verdict.falls == 0)
        #expect(verdict.successesNeeded(policy) == 1)
    }

    @Test(
        "whatever a receiver does, the changes it costs are bounded",
        arguments: [UInt64(1), 2, 3, 4, 5], [(1, 1), (1, 3), (2, 2)])
    func churn(seed: UInt64, thresholds: (Int, Int)) {
        // The worst there is: it turns as soon as its verdict has.
        let policy = HealthPolicy(rise: thresholds.0, fall: thresholds.1)
        var (spiteful, random) = (Verdict(), Verdict())
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
