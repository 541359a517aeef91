// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The environment of the process.
public enum Environment {
    /// nil when `name` is not set.
    public static subscript(name: String) -> String? {
        // SAFETY: nothing in this process changes its environment, so the string stays while it is read.
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
