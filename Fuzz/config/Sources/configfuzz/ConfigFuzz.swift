// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig

/// What libFuzzer calls with every input: any file gives a configuration or problems, each on one line and in
/// the order of the lines; and what a configuration is written as reads as the same configuration.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: data, count: size))
    switch Configuration.read(bytes, file: "f") {
    case .valid(let configuration, _):
        let written = Array(configuration.effectiveYAML.utf8)
        guard case .valid(configuration, _) = Configuration.read(written, file: "f") else {
            preconditionFailure("another configuration: \(configuration.effectiveYAML)")
        }
    case .invalid(let problems):
        precondition(!problems.isEmpty, "neither a configuration nor a problem")
        for problem in problems {
            precondition(!problem.description.contains { $0.isNewline }, "\(problem)")
            precondition(!problem.what.isEmpty && !problem.remedy.isEmpty, "\(problem)")
        }
        let lines = problems.map { $0.line ?? 0 }
        precondition(lines == lines.sorted(), "\(problems)")
    }
    return 0
}
