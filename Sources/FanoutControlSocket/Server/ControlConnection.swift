// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import Synchronization

/// One client of the control socket, served by a thread of its own.
final class ControlConnection: Sendable {
    private let stream: UnixStream
    private let handler: ControlServer.Handler

    init(_ stream: UnixStream, _ handler: @escaping ControlServer.Handler) {
        self.stream = stream
        self.handler = handler
    }

    /// Answers until the client closes, is silent for too long or sends something endless.
    func serve() {
        do throws(SystemError) {
            try stream.limitWaiting(seconds: ControlServer.patienceSeconds)
            var splitter = LineSplitter()
            while true {
                let (bytes, descriptors) = try stream.receive()
                for descriptor in descriptors { ThisProcess.close(descriptor) }
                guard !bytes.isEmpty else { return }
                for line in splitter.take(bytes) {
                    try stream.send(ControlLine.encode(answer(line)))
                }
                if splitter.isOverlong {
                    refuse(
                        "the line is longer than \(ControlLine.longestRequest) bytes",
                        "write one request a line")
                    return
                }
            }
        } catch {
            // The client is gone or says nothing; there is nobody to tell.
            stream.end()
        }
    }

    /// Says why it is not served, and ends.
    func refuse(_ message: String, _ remedy: String) {
        let failure = ControlFailure(message, remedy: remedy)
        try? stream.send(ControlLine.encode(ControlResponse.failure(failure)))
        stream.end()
    }

    /// Wakes the thread, which then ends.
    func end() { stream.end() }

    /// Waits, on this thread, for what the handler does on others.
    private func answer(_ line: [UInt8]) -> ControlResponse {
        let request: ControlRequest
        do throws(ControlFailure) {
            request = try ControlLine.decode(ControlRequest.self, from: line)
        } catch {
            return .failure(error)
        }
        let result = Answer()
        Task { [handler] in result.give(await handler(request)) }
        return result.take()
    }
}

extension ControlConnection: Hashable {
    static func == (left: ControlConnection, right: ControlConnection) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A response on its way from a task to the thread that waits for it.
private final class Answer: Sendable {
    private let given = Latch()
    private let response = Mutex<ControlResponse?>(nil)

    func give(_ response: ControlResponse) {
        self.response.withLock { $0 = response }
        given.countDown()
    }

    func take() -> ControlResponse {
        given.wait()
        return response.withLock { $0 }
            ?? .failure(ControlFailure("no answer", remedy: "ask again"))
    }
}
