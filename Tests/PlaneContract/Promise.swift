// SPDX-License-Identifier: Apache-2.0

/// A property of every data plane: a sentence, and the check. Each plane's tests run all of them:
///
///     @Test("keeps what every plane promises", arguments: Promise.functional)
///     func promises(promise: Promise) async throws { try await promise.check(stage) }
///
///     @Test("keeps it under load", .tags(.load), arguments: Promise.underLoad)
///     func promisesUnderLoad(promise: Promise) async throws { try await promise.check(stage) }
public struct Promise: Sendable, CustomStringConvertible {
    public let says: String
    /// - Throws: `Broken`, or the error of a failed setup.
    public let check: @Sendable (Stage) async throws -> Void

    public init(_ says: String, check: @escaping @Sendable (Stage) async throws -> Void) {
        self.says = says
        self.check = check
    }

    public var description: String { says }

    public static let functional: [Promise] = balance + sizes + changes + departures
    /// Promises that need both CPUs.
    public static let underLoad: [Promise] = scale + load
    public static let all: [Promise] = functional + underLoad
}
