// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc
internal import KernelPrograms

/// The C library's group, shared by a group and its memberships; the last of them closes it.
@safe final class GroupHandle: @unchecked Sendable {
    // SAFETY: made in init and closed in deinit. The C library's functions may be called from any thread
    // (reuseport_lb.h), and each caller holds a reference to this object.
    let native: OpaquePointer
    /// `group netflow`, or `a private group`.
    let subject: String
    /// Kept for the C library, which holds a pointer to it.
    private let log: LogBox?

    init(_ name: String?, _ options: borrowing GroupOptions) throws(ReusePortError) {
        subject = name.map { "group \($0)" } ?? "a private group"
        log = options.log.map(LogBox.init)
        var group: OpaquePointer?
        let result = unsafe Self.open(name, options, log, &group)
        guard result == 0 else {
            let isOpened = options.existingOnly || options.count == nil
            var remedy = name == nil ? nil : PinRoot(options.pinRoot).remedy(errno: -result)
            if options.existingOnly, -result == ENOENT { remedy = "there is no such group" }
            throw ReusePortError(
                isOpened ? "open" : "open or create", subject, errno: -result, RPLB_CALL_OPEN,
                remedy: remedy)
        }
        guard let group = unsafe group else {
            throw ReusePortError("open", subject, errno: EINVAL)
        }
        unsafe native = group
    }

    deinit { unsafe rplb_group_close(native) }

    /// Every pointer in the options is valid until the call returns; the library keeps only the log's context.
    private static func open(
        _ name: String?, _ options: borrowing GroupOptions, _ log: LogBox?,
        _ group: inout OpaquePointer?
    ) -> Int32 {
        guard let count = UInt32(exactly: options.count ?? 0),
            let capacity = UInt32(exactly: options.capacity ?? 0)
        else { return -ERANGE }
        guard let flows = UInt32(exactly: options.flows ?? 0) else { return -EINVAL }
        guard let object = options.object ?? EmbeddedObject.reuseportSelect.bytes else {
            return -ENOEXEC
        }
        var native = unsafe rplb_options()
        unsafe native.size = MemoryLayout<rplb_options>.size
        unsafe native.count = count
        unsafe native.capacity = capacity
        unsafe native.flows = flows
        unsafe native.key = options.key?.native ?? RPLB_KEY_ANY
        if case .payload(let key) = options.key { unsafe native.payload = key.native }
        unsafe native.owner = options.owner ?? .max
        unsafe native.owner_group = options.ownerGroup ?? .max
        unsafe native.mode = options.mode ?? 0
        if options.existingOnly { unsafe native.flags |= RPLB_EXISTING.rawValue }
        if options.allowsFallback { unsafe native.flags |= RPLB_FALLBACK.rawValue }
        if options.mountsFileSystem { unsafe native.flags |= RPLB_MOUNT.rawValue }
        if let log {
            unsafe native.log = LogBox.receive
            unsafe native.log_context = Unmanaged.passUnretained(log).toOpaque()
        }
        let seed = options.seed
        return unsafe withOptionalCString(name) { name in
            unsafe withOptionalCString(options.pinRoot) { root in
                unsafe object.withUnsafeBytes { bytes in
                    unsafe withUnsafePointer(to: seed ?? 0) { value in
                        unsafe native.pin_root = root
                        unsafe native.object = bytes.baseAddress
                        unsafe native.object_bytes = bytes.count
                        unsafe native.seed = seed == nil ? nil : value
                        return unsafe rplb_group_open(name, &native, &group)
                    }
                }
            }
        }
    }
}

/// Calls `body` with the text as a C string, or with NULL.
func withOptionalCString<Result>(
    _ text: String?, _ body: (UnsafePointer<CChar>?) -> Result
) -> Result {
    guard let text else { return body(nil) }
    return unsafe text.withCString { unsafe body($0) }
}

/// The log's closure as a C context.
final class LogBox: Sendable {
    private let log: @Sendable (GroupOptions.LogLevel, String) -> Void

    init(_ log: @escaping @Sendable (GroupOptions.LogLevel, String) -> Void) { self.log = log }

    // SAFETY: the context is a LogBox that the group's handle keeps alive for as long as the C library
    // may call; the line is NUL-terminated.
    static let receive: rplb_log_fn = { context, level, line in
        guard let context = unsafe context, let line = unsafe line else { return }
        let box = unsafe Unmanaged<LogBox>.fromOpaque(context).takeUnretainedValue()
        let known: GroupOptions.LogLevel =
            switch level {
            case RPLB_LOG_ERROR: .error
            case RPLB_LOG_INFO: .info
            default: .debug
            }
        box.log(known, unsafe String(cString: line))
    }
}
