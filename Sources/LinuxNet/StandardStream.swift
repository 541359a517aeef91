// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The process's own output: whole pieces of text in one write(2), so that lines of several threads
/// do not run into each other.
public enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of `text`; gives up silently when nobody reads it any more.
    public func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while rest.count > 0 {
                let count = unsafe Glibc.write(rawValue, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Whether a person is likely to be looking.
    public var isTerminal: Bool { isatty(rawValue) == 1 }
}
