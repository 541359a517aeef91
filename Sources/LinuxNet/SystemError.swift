// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// A system call that failed.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The call, such as `bind`.
    public let operation: String
    /// The errno.
    public let code: Int32

    public init(_ operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }

    /// The errno by name: `EADDRINUSE`.
    public var name: String {
        // SAFETY: it returns a static, NUL-terminated string for every code, as the next one does.
        unsafe String(cString: cnet_error_name(code))
    }

    /// The name with the kernel's sentence: `EADDRINUSE (Address already in use)`.
    public var reason: String {
        unsafe "\(name) (\(String(cString: cnet_error_text(code))))"
    }

    public var description: String { "\(operation): \(reason)" }
}

/// The one funnel of negative results into errors.
@discardableResult
func check(_ operation: String, _ result: Int32) throws(SystemError) -> Int32 {
    if result < 0 { throw SystemError(operation, code: -result) }
    return result
}
