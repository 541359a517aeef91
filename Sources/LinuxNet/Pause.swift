// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// Sleeping, for threads of our own; tasks use Task.sleep.
public enum Pause {
    /// - Parameter count: 0...999.
    public static func milliseconds(_ count: Int) { cnet_pause(UInt32(count) * 1000) }
}
