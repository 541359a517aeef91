// SPDX-License-Identifier: Apache-2.0

public import Testing

/// What a test needs of the machine, and so how scripts/run-tests.py runs it. A suite's tag holds for its
/// tests; of several tags the last one of this list counts.
extension Tag {
    /// No privilege, no network, no clock: in parallel with all others of its kind.
    @Tag public static var unit: Self
    /// Namespaces, loopback, processes or time: side by side with other suites, each in a process of its own.
    @Tag public static var network: Self
    /// Rates and loss: with both CPUs to itself.
    @Tag public static var load: Self
    /// Like `load`, for minutes: `make test-all` runs it, `make test` does not.
    @Tag public static var exhaustive: Self
}
