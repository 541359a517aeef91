// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension ThisProcess {
    /// The path of this executable.
    public static var executable: String {
        var bytes = [CChar](repeating: 0, count: 4096)
        // SAFETY: the call writes at most as many bytes as it is told.
        let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
        return String(
            decoding: bytes.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Replaces this process by a program, with SIGPIPE as usual and no signal blocked. Returns only when that fails.
    ///
    /// - Parameters:
    ///   - arguments: the first one is the program's name.
    ///   - variables: added to the environment, or in place of those with the same name.
    ///   - socket: passed as descriptor 3 (sd_listen_fds(3)); nil: none.
    public static func execute(
        _ path: String, _ arguments: [String], adding variables: [(name: String, value: String)],
        passing socket: Int32? = nil
    ) -> SystemError {
        var variables = variables
        if let socket {
            // SD_LISTEN_FDS_START
            let result = socket == 3 ? fcntl(3, F_SETFD, 0) : dup2(socket, 3)
            guard result >= 0 else { return SystemError("pass a socket to \(path)", code: errno) }
            variables += [("LISTEN_PID", "\(number)"), ("LISTEN_FDS", "1")]
        }
        signal(SIGPIPE, SIG_DFL)
        // Threads of the task pool block signals, and a program keeps the mask of the thread that executes it.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
        var words = unsafe copies(of: arguments)
        var environment = unsafe copies(of: Environment.all(with: variables))
        // SAFETY: both arrays and their strings are NUL-terminated. They are not freed: the program replaces them, and
        // after an error this process ends.
        unsafe execve(path, &words, &environment)
        return SystemError("run \(path)", code: errno)
    }

    /// Starts a program, with the environment, descriptors and standard streams of this process.
    ///
    /// - Parameter arguments: the first one is the program's name.
    /// - Returns: its pid. The caller waits for it (`waitpid(2)`).
    public static func start(_ path: String, _ arguments: [String]) throws(SystemError) -> Int32 {
        var pid: pid_t = 0
        var words = unsafe copies(of: arguments)
        // SAFETY: the array and its strings are NUL-terminated and outlive the call, as the environment does.
        defer { unsafe words.forEach { unsafe free($0) } }
        let code = unsafe posix_spawn(&pid, path, nil, nil, &words, environ)
        guard code == 0 else { throw SystemError("run \(path)", code: code) }
        return pid
    }

    /// How a child has ended: its exit status, or 128 plus a signal's number; nil while it runs.
    public static func ending(of child: Int32) -> Int32? {
        var status: Int32 = 0
        guard unsafe waitpid(child, &status, WNOHANG) == child else { return nil }
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
    }

    private static func copies(of strings: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe strings.map { unsafe strdup($0) } + [nil]
    }
}

extension Environment {
    /// Each variable as `NAME=VALUE`, with others added or in place of those with the same name.
    static func all(with others: [(name: String, value: String)]) -> [String] {
        var result: [String] = []
        var next = unsafe environ
        // SAFETY: nothing in this process changes the environment, an array of strings that ends with nil.
        while let variable = unsafe next.pointee {
            let text = unsafe String(cString: variable)
            if !others.contains(where: { text.hasPrefix("\($0.name)=") }) { result.append(text) }
            unsafe next += 1
        }
        return result + others.map { "\($0.name)=\($0.value)" }
    }
}
