// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension Reconciler {
    /// Waits for the times at which shares rise, until the task is cancelled.
    ///
    /// - Parameter act: called at each: has the planes follow (`followHealth`), and returns whether they did.
    ///   When they did not, it is called again.
    public func warm(_ act: @Sendable () async -> Bool) async {
        for await _ in rises {
            while let next = slowStart.next {
                // A change may bring another time that comes before.
                let pause = min(max(next - now(), .milliseconds(5)), .milliseconds(250))
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                guard let due = slowStart.next, due <= now() else { continue }
                if await !act() {
                    guard (try? await Task.sleep(for: .seconds(1))) != nil else { return }
                }
            }
        }
    }
}
