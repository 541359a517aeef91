// SPDX-License-Identifier: Apache-2.0

import CNet
import Glibc
import LinuxNet
import Synchronization
import Testing
import Tiers

@Suite("Waiting for the kernel's running work", .tags(.network))
struct SettleTests {
    /// Waits on a thread where the kernel refuses membarrier(2), as with nohz_full=.
    private static func settleWithoutBarrier() throws -> (isRefused: Bool, way: cnet_settled) {
        let result = Mutex<(Bool, cnet_settled)>((false, CNET_SETTLED_BY_BARRIER))
        try withoutActuallyEscaping(
            {
                let isRefused = refuseBarrier()
                let way = cnet_settle()
                result.withLock { $0 = (isRefused, way) }
            } as @Sendable () -> Void
        ) { body in
            try Thread(name: "filtered", body: body).join()
        }
        return result.withLock { $0 }
    }

    /// A filter of system calls for this thread and the threads that it starts (seccomp(2)).
    private static func refuseBarrier() -> Bool {
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        let control = unsafeBitCast(dlsym(nil, "prctl"), to: Control.self)
        #if arch(x86_64)
            let number: UInt32 = 324
        #else
            let number: UInt32 = 283
        #endif
        // EINVAL for this system call, all others are allowed.
        var program = [
            cnet_instruction(code: 0x20, jump_true: 0, jump_false: 0, operand: 0),
            cnet_instruction(code: 0x15, jump_true: 0, jump_false: 1, operand: number),
            cnet_instruction(
                code: 0x06, jump_true: 0, jump_false: 0, operand: 0x0005_0000 | UInt32(EINVAL)),
            cnet_instruction(code: 0x06, jump_true: 0, jump_false: 0, operand: 0x7fff_0000),
        ]
        return program.withUnsafeMutableBytes { instructions in
            /// struct sock_fprog of linux/filter.h.
            struct Filter {
                var count: UInt16
                var instructions: UnsafeMutableRawPointer?
            }
            var filter = Filter(count: 4, instructions: instructions.baseAddress)
            // PR_SET_NO_NEW_PRIVS, and PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
            guard control(38, 1, 0, 0, 0) == 0 else { return false }
            return withUnsafeMutablePointer(to: &filter) {
                control(22, 2, UInt(bitPattern: $0), 0, 0) == 0
            }
        }
    }

    @Test("is a grace period of the kernel even without membarrier")
    func withoutBarrier() throws {
        let before = open("/dev/null", O_RDONLY | O_CLOEXEC)
        close(before)
        for _ in 0..<5 {
            let (isRefused, way) = try Self.settleWithoutBarrier()
            try #require(isRefused)
            #expect(way == CNET_SETTLED_BY_TABLE)
        }
        // No descriptor has leaked.
        let after = open("/dev/null", O_RDONLY | O_CLOEXEC)
        close(after)
        #expect(after == before)
    }
}
