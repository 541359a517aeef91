// SPDX-License-Identifier: Apache-2.0

/// Why the bench cannot go on.
struct Trouble: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
