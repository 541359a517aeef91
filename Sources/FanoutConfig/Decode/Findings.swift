// SPDX-License-Identifier: Apache-2.0

/// The problems that are found while one file is read, and how many more there were.
final class Findings {
    private struct List {
        var problems: [ConfigProblem] = []
        var more = 0

        mutating func add(_ problem: () -> ConfigProblem) {
            // Finding the words may cost more than finding the problem.
            if problems.count < SourceLimits.problems {
                problems.append(problem())
            } else {
                more += 1
            }
        }

        func report(of file: String) -> [ConfigProblem] {
            let sorted = problems.sorted(by: ConfigProblem.isBefore)
            guard more > 0 else { return sorted }
            return sorted + [
                ConfigProblem(
                    file: file, what: "\(more) further problems are not shown",
                    remedy: "write what these lines say first")
            ]
        }
    }

    private let file: String
    private var errorList = List()
    private var warningList = List()

    init(file: String) { self.file = file }

    /// In line order.
    var errors: [ConfigProblem] { errorList.report(of: file) }
    /// In line order.
    var warnings: [ConfigProblem] { warningList.report(of: file) }

    func error(
        at origin: Origin, _ what: @autoclosure () -> String, _ remedy: @autoclosure () -> String
    ) {
        errorList.add { ConfigProblem(at: origin, what: what(), remedy: remedy()) }
    }

    func warning(
        at origin: Origin, _ what: @autoclosure () -> String, _ remedy: @autoclosure () -> String
    ) {
        warningList.add { ConfigProblem(at: origin, what: what(), remedy: remedy()) }
    }
}
