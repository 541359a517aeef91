// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LabNet

/// One thread of another process, stopped by gdb, so that no thread of the tests becomes a tracer.
final class StoppedThread {
    private let debugger: ChildProcess
    private let statistics: String

    /// Stops the thread of `process` whose name begins with `prefix`, until this object is freed.
    init(named prefix: String, of process: pid_t) throws {
        let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
        let thread = tasks.first { task in
            let name = try? String(
                contentsOfFile: "/proc/\(process)/task/\(task)/comm", encoding: .utf8)
            return name?.hasPrefix(prefix) == true
        }
        guard let thread, let number = Int32(thread) else {
            throw Failed("no thread \(prefix)", ESRCH)
        }
        statistics = "/proc/\(process)/task/\(number)/stat"
        // PTRACE_SEIZE and PTRACE_INTERRUPT affect one thread only (ptrace(2)).
        let script = """
            import ctypes, sys
            ptrace = ctypes.CDLL(None, use_errno=True).ptrace
            ptrace.argtypes = [ctypes.c_long] * 4
            for request in (0x4206, 0x4207):
                if ptrace(request, \(number), 0, 0) != 0:
                    sys.exit("ptrace: %d" % ctypes.get_errno())
            print("stopped", flush=True)
            sys.stdin.read()
            """
        let pair = try Files.streamPair()
        debugger = try ChildProcess(
            "/usr/bin/python3", ["-c", script], input: .inherited(pair.1))
        close(pair.1)
        held = pair.0
    }

    private let held: Int32

    func isStopped() async throws {
        _ = try await debugger.record.wait("the thread is interrupted") { $0.output.first }
        // PTRACE_INTERRUPT returns before the thread has stopped; its state is then t (proc(5)).
        try await eventually("the thread is stopped") {
            try String(contentsOfFile: statistics, encoding: .utf8).contains(") t ")
        }
    }

    /// Resumes the thread: a tracer that ends detaches.
    func release() async throws {
        close(held)
        _ = try await debugger.exit()
    }
}
