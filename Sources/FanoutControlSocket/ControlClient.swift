// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LinuxNet

/// One connection to a daemon's control socket.
public struct ControlClient: Sendable {
    private let stream: UnixStream
    private let path: String

    /// - Throws: `ControlFailure` when no daemon answers there; it says what to do.
    public init(path: String) throws(ControlFailure) {
        self.path = path
        do throws(SystemError) {
            stream = try UnixStream(connectingTo: path)
            try stream.limitWaiting(seconds: 60)
        } catch {
            throw Self.failure(error, path)
        }
    }

    /// - Returns: nil when no daemon listens there.
    public static func ifPresent(at path: String) throws(ControlFailure) -> ControlClient? {
        do throws(SystemError) {
            let stream = try UnixStream(connectingTo: path)
            try stream.limitWaiting(seconds: 60)
            return ControlClient(stream: stream, path: path)
        } catch {
            if error.code == ENOENT || error.code == ECONNREFUSED { return nil }
            throw failure(error, path)
        }
    }

    private init(stream: UnixStream, path: String) {
        self.stream = stream
        self.path = path
    }

    /// The daemon's number; nil when it is beyond this process's sight, in another PID namespace.
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
        default:
            ControlFailure("\(error)", remedy: "name the daemon's control.socket with --socket")
        }
    }

    /// Sends a request and waits for the answer, a minute at most.
    public func ask(_ request: ControlRequest) throws(ControlFailure) -> ControlResponse {
        let line = try exchange(ControlLine.encode(request))
        return try ControlLine.decode(ControlResponse.self, from: line)
    }

    /// Asks for the step `begin` of a takeover.
    ///
    /// - Returns: what the daemon says, and its sockets, which are the caller's to close.
    public func beginTakeover() throws(ControlFailure) -> (TakeoverReport, sockets: [Int32]) {
        var request = ControlRequest(.takeover)
        request.step = .begin
        request.process = ThisProcess.number
        var line: [UInt8] = []
        var sockets: [Int32] = []
        var report: TakeoverReport?
        var failure: ControlFailure?
        do throws(SystemError) {
            try stream.send(ControlLine.encode(request))
            while report.map({ sockets.count < $0.sockets.count }) ?? true {
                let (bytes, descriptors) = try stream.receive()
                sockets += descriptors
                line += bytes
                if bytes.isEmpty { break }
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
                "the daemon at \(path) does not hand its sockets over",
                remedy: "it may be of an older version; restart it")
    }

    /// The same in bytes: the line of the answer, without its end.
    public func exchange(_ line: [UInt8]) throws(ControlFailure) -> [UInt8] {
        do throws(SystemError) {
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
            guard error.code == EAGAIN else { throw Self.failure(error, path) }
            throw ControlFailure(
                "the daemon at \(path) does not answer",
                remedy: "look at its log; it may hang")
        }
        throw ControlFailure(
            "the daemon at \(path) closed the connection",
            remedy: "it has ended, or hears root and its own user alone")
    }
}
