// SPDX-License-Identifier: Apache-2.0

public import Testing

/// The tier of a test: what it needs, and so how scripts/run-tests.py runs it. A suite's tag applies to its
/// tests. If a test has several, the last one in this list counts.
extension Tag {
    /// No privilege, no network, no clock: runs in parallel with the other unit tests.
    @Tag public static var unit: Self
    /// Namespaces, loopback, processes or time: each suite runs in a process of its own, beside others.
    @Tag public static var network: Self
    /// Rates and loss: runs alone, with both CPUs.
    @Tag public static var load: Self
    /// Takes minutes: runs like `load`, by `make test-all` only.
    @Tag public static var exhaustive: Self
}
