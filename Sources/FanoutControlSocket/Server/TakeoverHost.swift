// SPDX-License-Identifier: Apache-2.0

/// A daemon whose place another process can take.
public protocol TakeoverHost: Sendable {
    /// Carries out a step of `takeover`.
    ///
    /// - Parameter client: the connection that it came by.
    /// - Returns: the answer, and descriptors that go with it, borrowed until the next step.
    func carryOut(
        _ request: ControlRequest, for client: Int
    ) async -> (ControlResponse, descriptors: [Int32])

    /// A connection by which a takeover has begun is no more, without the last step.
    func takeoverBroke(of client: Int) async

    /// The answer to the last step has been sent, or nobody is there to read it.
    func takeoverEnded() async
}
