// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxNet

/// An executable file that `collector exec` is to run.
struct Program {
    let path: String

    /// Finds a command as a shell does: a name with a slash is a path, another one is searched for in PATH.
    ///
    /// - Throws: `ExecError` when there is no such file, or it is not executable.
    init(_ command: String, searchPath: String) throws(ExecError) {
        if command.contains("/") {
            path = command
            guard unsafe access(command, X_OK) == 0 else {
                throw ExecError("run \(command)", errno: errno)
            }
            return
        }
        let folders = searchPath.split(separator: ":", omittingEmptySubsequences: false)
        let candidates = folders.map { "\($0.isEmpty ? "." : $0)/\(command)" }
        guard let found = candidates.first(where: { unsafe access($0, X_OK) == 0 }) else {
            throw ExecError("run \(command)", "no such program in PATH")
        }
        path = found
    }

    private init(path: String) { self.path = path }

    /// Why the dynamic linker would not load a preload library of this process's kind into it; nil if it would.
    func refusalOfPreload(depth: Int = 0) -> String? {
        let head = Self.head(of: path)
        if head.starts(with: [0x23, 0x21]) {  // #!
            guard depth < 4, let interpreter = Self.interpreter(of: head) else { return nil }
            return Program(path: interpreter).refusalOfPreload(depth: depth + 1)
        }
        guard head.starts(with: [0x7f, 0x45, 0x4c, 0x46]), head.count >= 64 else { return nil }
        // The class and the machine (elf(5), e_ident, e_machine).
        let own = Self.head(of: "/proc/self/exe")
        guard head[4] == own[4], head[18..<20] == own[18..<20] else {
            return "it is built for another machine than collector"
        }
        if !Self.hasInterpreter(head) { return "it is statically linked" }
        return gainsPrivilege ? "it gains privilege when it starts" : nil
    }

    /// Whether the kernel sets AT_SECURE (execve(2), ld.so(8)).
    private var gainsPrivilege: Bool {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else { return false }
        let changesUser = facts.st_mode & S_ISUID != 0 && facts.st_uid != geteuid()
        let changesGroup = facts.st_mode & S_ISGID != 0 && facts.st_gid != getegid()
        return changesUser || changesGroup || (Capabilities.areOn(path) && geteuid() != 0)
    }

    /// The first bytes, in which linkers put the program headers.
    private static func head(of path: String) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe read(file, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    private static func interpreter(of head: [UInt8]) -> String? {
        let line = head.dropFirst(2).prefix { $0 != 10 }
        let word = line.drop { $0 == 32 || $0 == 9 }.prefix { $0 != 32 && $0 != 9 }
        return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
    }

    /// Whether a 64-bit executable names a dynamic linker (elf(5), PT_INTERP).
    private static func hasInterpreter(_ head: [UInt8]) -> Bool {
        func number(_ offset: Int, _ bytes: Int) -> Int {
            guard offset >= 0, offset + bytes <= head.count else { return -1 }
            return (0..<bytes).reversed().reduce(0) { $0 << 8 | Int(head[offset + $1]) }
        }
        let (start, size, count) = (number(32, 4), number(54, 2), number(56, 2))
        guard start > 0, size > 0, count > 0 else { return false }
        return (0..<count).contains { number(start + $0 * size, 4) == 3 }
    }
}

/// A step of `collector exec` that failed.
struct ExecError: Error, CustomStringConvertible {
    let description: String

    init(_ operation: String, _ reason: String) { description = "\(operation): \(reason)" }

    init(_ operation: String, errno: Int32) {
        // SAFETY: a NUL-terminated string of this thread.
        self.init(operation, unsafe String(cString: strerror(errno)))
    }
}
