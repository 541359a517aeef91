// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing

extension CollectorTests {
    @Suite("A kernel that refuses the program")
    struct RefusedProgramTests {}
}

extension CollectorTests.RefusedProgramTests {
    /// Replaces bpf(2) for libbpf: every program is refused, except the few instructions by which libbpf probes
    /// for the program type.
    private static let refusal = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <linux/bpf.h>
        #include <stdarg.h>
        #include <sys/syscall.h>

        long syscall(long number, ...)
        {
            long (*next)(long, ...) = dlsym(RTLD_NEXT, "syscall");
            long words[6];
            va_list list;

            va_start(list, number);
            for (int i = 0; i < 6; i++)
                words[i] = va_arg(list, long);
            va_end(list);
            if (number == __NR_bpf && words[0] == BPF_PROG_LOAD &&
                ((union bpf_attr *)words[1])->insn_cnt > 16) {
                errno = EINVAL;
                return -1;
            }
            return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
        }
        """

    @Test("the error is followed by the end of the log, and does not blame a new kernel's age")
    func log() async throws {
        let folder = try ScratchFolder()
        let (source, library) = (folder.path("refuse.c"), folder.path("refuse.so"))
        try Self.refusal.write(toFile: source, atomically: true, encoding: .utf8)
        let compiler = try ChildProcess("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"])
        let built = try await compiler.exit()
        try #require(built == .exited(0), "\(compiler.record.state.errors)")

        let pins = try BPFFileSystem()
        let program = CollectorUnderTest.Program(
            words: ["env", "LD_PRELOAD=\(library)", Files.product("collector")], folder: folder)
        let endpoint = try Endpoint.free()
        let run = try await CollectorUnderTest.run(
            ["\(endpoint.address)", "\(endpoint.port)", "0", "1", "--pin-root", pins.path],
            program: program)
        #expect(run.code == 1)
        let error = try #require(run.errors.first)
        #expect(error.contains("ENOEXEC") && error.contains("the log says why"), "\(run.errors)")
        #expect(!error.contains("Linux 5.6"))
        let log = run.errors.dropFirst()
        #expect(!log.isEmpty && log.count <= 12, "\(run.errors)")
        #expect(log.allSatisfy { $0.hasPrefix("collector: the log: ") }, "\(run.errors)")
        #expect(log.contains { $0.contains("'lb_select': BPF program load failed") }, "\(log)")
        #expect(try await StatusReport(pins).groups.isEmpty)
    }
}
