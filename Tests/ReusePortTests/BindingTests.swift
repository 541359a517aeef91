// SPDX-License-Identifier: Apache-2.0

import LabNet
import Testing

extension ReusePortTests {
    @Suite("Bindings")
    struct BindingTests {}
}

extension ReusePortTests.BindingTests {
    @Test("the Python module passes its own tests with the real library")
    func python() async throws {
        let tests = Files.sources.appending(path: "bindings/python/test_reuseport_lb.py").path
        let run = try ChildProcess(
            "/usr/bin/env",
            [
                "REUSEPORTLB_LIBRARY=\(Files.product("libreuseportlb.so"))",
                "unshare", "--mount", "--net", "python3", "-B", tests,
            ])
        let ending = try await run.exit(within: .seconds(60))
        let said = run.record.state.errors
        #expect(ending == .exited(0), "\(said)")
        #expect(said.contains("OK"), "\(said)")
    }
}
