// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxNet
internal import YAML

/// Limits for a configuration file.
public enum SourceLimits {
    /// Maximum file size, bytes: 64 listeners with 1 024 receivers each take about 4 MiB.
    public static let bytes = 8 << 20
    /// Maximum number of values and list items: those 65 536 receivers take 330 000, with a weight each.
    public static let nodes = 1_000_000
    /// Maximum number of errors, and of warnings, that are reported for one file.
    public static let problems = 1_000
    /// Maximum nesting of lists and mappings.
    public static let depth = 16
}

/// The text of a configuration file: UTF-8, not empty, not too long, without a byte order mark.
enum SourceText {
    static let tooLong = (
        what: "the file is longer than \(SourceLimits.bytes) bytes",
        remedy: "write fewer listeners or start a second daemon"
    )

    /// The document's tree.
    ///
    /// - Throws: every fault of the text as YAML.
    static func tree(of bytes: [UInt8], file: String) throws(ConfigProblems) -> YAMLNode {
        func problem(_ what: String, _ remedy: String, _ line: Int? = nil, _ column: Int? = nil)
            -> ConfigProblem
        {
            ConfigProblem(file: file, line: line, column: column, what: what, remedy: remedy)
        }
        guard bytes.count <= SourceLimits.bytes else {
            throw ConfigProblems(problem(tooLong.what, tooLong.remedy))
        }
        guard !bytes.starts(with: [0xef, 0xbb, 0xbf]) else {
            throw ConfigProblems(
                problem(
                    "the file begins with a byte order mark", "save it as UTF-8 without one", 1, 1))
        }
        let document = YAMLDocument(
            bytes,
            limits: YAMLLimits(
                nodes: SourceLimits.nodes, depth: SourceLimits.depth,
                faults: SourceLimits.problems))
        if let problem = unshown(in: bytes, file: file, until: document.faults.first) {
            throw ConfigProblems(problem)
        }
        guard document.faults.isEmpty else {
            throw ConfigProblems(
                list: document.faults.map { problem($0.what, $0.remedy, $0.line, $0.column) })
        }
        guard let root = document.root, !root.isNull else {
            throw ConfigProblems(problem("the file is empty", "write at least listeners"))
        }
        return root
    }

    /// The first byte that is not UTF-8, or the first character that is invisible or a line break to libyaml but
    /// not to an editor.
    ///
    /// - Parameter end: where to stop; nil: at the end of the text.
    private static func unshown(
        in bytes: [UInt8], file: String, until end: YAMLFault?
    ) -> ConfigProblem? {
        var iterator = bytes.makeIterator()
        var decoder = UTF8()
        var (line, column) = (1, 1)
        let end = (end?.line ?? .max, end?.column ?? .max)
        while (line, column) <= end {
            switch decoder.decode(&iterator) {
            case .emptyInput: return nil
            case .error:
                return ConfigProblem(
                    file: file, line: line, column: column, what: "the file is not UTF-8",
                    remedy: "save it as UTF-8")
            case .scalarValue(let scalar):
                switch scalar.value {
                case 0x0a: (line, column) = (line + 1, 0)
                case 0x09, 0x0d, 0x20..<0x7f: break
                case 0..<0x20, 0x7f...0x9f, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff:
                    return ConfigProblem(
                        file: file, line: line, column: column,
                        what: "the file holds the control character \(scalar.codePoint)",
                        remedy: "remove it")
                default: break
                }
                column += 1
            }
        }
        return nil
    }
}

/// Problems that prevent further reading.
struct ConfigProblems: Error {
    let list: [ConfigProblem]

    init(list: [ConfigProblem]) { self.list = list }
    init(_ problem: ConfigProblem) { list = [problem] }
}

/// The bytes of a configuration file, or why it cannot be read.
enum ConfigFile {
    /// Only regular files are read: a pipe without a writer would block the daemon for ever, and a pipe or a device
    /// cannot be read again.
    static func bytes(of path: String) throws(ConfigProblem) -> [UInt8] {
        do throws(SystemError) {
            return try SmallFile.bytes(of: path, limit: SourceLimits.bytes)
        } catch {
            throw problem(of: path, errno: error.code)
        }
    }

    /// The message for a file that cannot be read, by errno.
    static func problem(of path: String, errno code: Int32?) -> ConfigProblem {
        let (what, remedy) =
            switch code {
            case ENOENT, ENOTDIR:
                ("the file does not exist", "put it there, or write its path after --config")
            case EACCES, EPERM:
                ("the file may not be read", "give the daemon's user permission to read it")
            case ESPIPE, ENXIO:
                (
                    "this is not a regular file",
                    "write the path of a file after --config; pipes and devices are not read"
                )
            case EFBIG: SourceText.tooLong
            case EISDIR: ("this is a directory", "write the path of a file after --config")
            default:
                (
                    "the file cannot be read" + (code.map { " (errno \($0))" } ?? ""),
                    "write the path of a readable file after --config"
                )
            }
        return ConfigProblem(file: path, what: what, remedy: remedy)
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is invisible and may change how the text around it is shown: controls, line separators,
    /// directional marks and the like.
    var isControl: Bool {
        if isASCII { return value < 0x20 || value == 0x7f }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    /// Whether the scalar is unassigned in Unicode; libyaml accepts some of these only when escaped.
    var isUnassigned: Bool {
        guard !isASCII else { return false }
        return switch properties.generalCategory {
        case .privateUse, .unassigned: true
        default: false
        }
    }

    /// As `U+0007`.
    var codePoint: String { "U+" + hex(4).uppercased() }

    func hex(_ width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension StringProtocol {
    /// The text on one line and of bounded length, so that raw file content never reaches a terminal or a log.
    func printable(limit: Int = 64) -> String {
        var result = ""
        for scalar in unicodeScalars.prefix(limit) {
            if scalar.isControl {
                result += "<\(scalar.codePoint)>"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return unicodeScalars.dropFirst(limit).isEmpty ? result : result + "..."
    }

    /// The text in single quotes, for problems.
    var quoted: String { "'\(printable())'" }

    /// The text in double quotes. Escapes quotes, backslashes, and what `escape` returns an escape for.
    func inDoubleQuotes(escape: (Unicode.Scalar) -> String?) -> String {
        var result = "\""
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" {
                result += "\\\(scalar)"
            } else if let escaped = escape(scalar) {
                result += escaped
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
