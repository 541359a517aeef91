// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxNet

/// One connection to a daemon's control socket.
public struct ControlClient: Sendable {
    private let stream: UnixStream
    private let path: String

    /// Longest wait for an immediate response, seconds.
    private static let patience = 10
    /// The same for a response that needs work first: a reload waits for sources of receivers.
    private static let patienceWithWork = 60

    /// - Throws: `ControlFailure` with a remedy if no daemon answers.
    public init(path: String) throws(ControlFailure) {
        self.path = path
        do throws(SystemError) {
            stream = try UnixStream(connectingTo: path)
        } catch {
            throw Self.failure(error, path)
        }
    }

    /// - Returns: nil if no daemon listens there.
    public static func ifPresent(at path: String) throws(ControlFailure) -> ControlClient? {
        do throws(SystemError) {
            return ControlClient(stream: try UnixStream(connectingTo: path), path: path)
        } catch {
            if error.code == ENOENT || error.code == ECONNREFUSED { return nil }
            throw failure(error, path)
        }
    }

    private init(stream: UnixStream, path: String) {
        self.stream = stream
        self.path = path
    }

    /// The daemon's process ID; nil in another PID namespace.
    public var process: Int32? {
        guard let pid = try? stream.peer.pid, pid > 0 else { return nil }
        return pid
    }

    /// Ends the connection.
    public func end() { stream.end() }

    private static func failure(_ error: SystemError, _ path: String) -> ControlFailure {
        switch error.code {
        case ENOENT, ECONNREFUSED:
            ControlFailure(
                "no daemon listens at \(path)",
                remedy: "start udp-fanout, or name its control.socket with --socket")
        case EACCES, EPERM:
            ControlFailure(
                "\(path) belongs to another user",
                remedy: "run this as root or as the daemon's user")
        case EAGAIN:
            ControlFailure(
                "the daemon at \(path) does not answer",
                remedy: "look at its log and its state: it hangs or is stopped", isTimeout: true)
        case ECONNRESET, EPIPE: broken(path)
        default:
            ControlFailure("\(error)", remedy: "name the daemon's control.socket with --socket")
        }
    }

    private static func broken(_ path: String) -> ControlFailure {
        ControlFailure(
            "the daemon at \(path) closed the connection",
            remedy: "it has ended, or accepts root and its own user only", mayRetry: true)
    }

    /// Sends a request and waits for the response: 10 s, or a minute for a reload or a drain.
    public func ask(_ request: ControlRequest) throws(ControlFailure) -> ControlResponse {
        let isWork =
            switch request.request {
            case .reload, .drain, .undrain: true
            case .status, .explain, .takeover: false
            }
        let line = try exchange(
            ControlLine.encode(request), within: isWork ? Self.patienceWithWork : Self.patience)
        return try ControlLine.decode(ControlResponse.self, from: line)
    }

    /// Requests the step `begin` of a takeover.
    ///
    /// - Returns: the report and the daemon's sockets, which the caller must close.
    public func beginTakeover() throws(ControlFailure) -> (TakeoverReport, sockets: [Int32]) {
        var request = ControlRequest(.takeover)
        request.step = .begin
        request.process = ThisProcess.number
        var line: [UInt8] = []
        var sockets: [Int32] = []
        var report: TakeoverReport?
        var failure: ControlFailure?
        do throws(SystemError) {
            try stream.limitWaiting(seconds: Self.patience)
            try stream.send(ControlLine.encode(request))
            while report.map({ sockets.count < $0.sockets.count }) ?? true {
                let (bytes, descriptors) = try stream.receive()
                sockets += descriptors
                line += bytes
                if bytes.isEmpty {
                    failure = Self.broken(path)
                    break
                }
                guard report == nil, let end = line.firstIndex(of: UInt8(ascii: "\n")) else {
                    continue
                }
                let response = try? ControlLine.decode(ControlResponse.self, from: line[..<end])
                report = response?.takeover
                failure = response?.error
                if report == nil { break }
            }
        } catch {
            failure = Self.failure(error, path)
        }
        if let report, sockets.count == report.sockets.count { return (report, sockets) }
        for socket in sockets { ThisProcess.close(socket) }
        throw failure
            ?? ControlFailure(
                "the daemon at \(path) does not pass its sockets",
                remedy: "it may be an older version; restart it")
    }

    /// The same in bytes: the line of the response, without its newline.
    ///
    /// - Parameter seconds: how long to wait for the next bytes.
    public func exchange(
        _ line: [UInt8], within seconds: Int = 10
    ) throws(ControlFailure) -> [UInt8] {
        do throws(SystemError) {
            try stream.limitWaiting(seconds: seconds)
            try stream.send(line)
            var answer: [UInt8] = []
            while true {
                let (bytes, descriptors) = try stream.receive()
                for descriptor in descriptors { ThisProcess.close(descriptor) }
                answer += bytes
                if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                    return Array(answer.dropLast(bytes.count - end))
                }
                if bytes.isEmpty { break }
            }
        } catch {
            throw Self.failure(error, path)
        }
        throw Self.broken(path)
    }
}
