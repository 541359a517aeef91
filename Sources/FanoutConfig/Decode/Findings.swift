// SPDX-License-Identifier: Apache-2.0

/// The problems that are found while one file is read.
final class Findings {
    private(set) var errors: [ConfigProblem] = []
    private(set) var warnings: [ConfigProblem] = []

    func error(at origin: Origin, _ what: String, _ remedy: String) {
        errors.append(ConfigProblem(at: origin, what: what, remedy: remedy))
    }

    func warning(at origin: Origin, _ what: String, _ remedy: String) {
        warnings.append(ConfigProblem(at: origin, what: what, remedy: remedy))
    }
}
