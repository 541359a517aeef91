// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What a process does about SIGHUP before it can act upon it.
public struct HangUp {
    private var previous = sigaction()

    /// Has SIGHUP do nothing until another handler is set. A daemon reads its configuration after that anyway.
    public static func ignored() -> HangUp {
        var result = HangUp()
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = SIG_IGN
        // SAFETY: the kernel reads the one structure and fills in the other before the call returns.
        _ = unsafe sigaction(SIGHUP, &action, &result.previous)
        return result
    }

    /// Has it do what it did before, such as to end the process.
    public func restore() {
        var previous = previous
        // SAFETY: the kernel reads the structure before the call returns.
        _ = unsafe sigaction(SIGHUP, &previous, nil)
    }
}
