// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import Synchronization

/// One client of the control socket, served by its own thread.
final class ControlConnection: Sendable {
    private let stream: UnixStream
    private let handler: ControlServer.Handler
    private let host: (any TakeoverHost)?
    private let number: Int
    /// The last completed step of a takeover; used by the serving thread only.
    private let step = Mutex<ControlRequest.TakeoverStep?>(nil)
    private let hasEnded = Atomic(false)

    init(
        _ stream: UnixStream, number: Int, _ handler: @escaping ControlServer.Handler,
        _ host: (any TakeoverHost)?
    ) {
        self.stream = stream
        self.number = number
        self.handler = handler
        self.host = host
    }

    /// Serves requests until the client closes, is silent for too long or sends an overlong line.
    func serve() {
        defer { noteEnd() }
        do throws(SystemError) {
            try stream.limitWaiting(seconds: ControlServer.patienceSeconds)
            var splitter = LineSplitter()
            while true {
                let (bytes, descriptors) = try stream.receive()
                for descriptor in descriptors { ThisProcess.close(descriptor) }
                guard !bytes.isEmpty else { return }
                for line in splitter.take(bytes) {
                    try send(answer(line))
                }
                if splitter.isOverlong {
                    refuse(
                        "the line is longer than \(ControlLine.longestRequest) bytes",
                        "write one request a line")
                    return
                }
            }
        } catch {
            // The client is gone or silent, so no error can be sent.
            stream.end()
        }
    }

    /// Sends the reason for the refusal, and closes.
    func refuse(_ message: String, _ remedy: String) {
        let failure = ControlFailure(message, remedy: remedy)
        try? stream.send(ControlLine.encode(ControlResponse.failure(failure)))
        stream.end()
    }

    /// Wakes the thread, which then exits.
    func end() { stream.end() }

    /// Blocks this thread until the handler, which runs on others, is done.
    private func answer(_ line: [UInt8]) -> (ControlResponse, descriptors: [Int32]) {
        let request: ControlRequest
        do throws(ControlFailure) {
            request = try ControlLine.decode(ControlRequest.self, from: line)
        } catch {
            return (.failure(error), [])
        }
        let result = Answer()
        Task { [handler, host, number] in
            if request.request == .takeover, let host {
                result.give(await host.carryOut(request, for: number))
            } else {
                result.give((await handler(request), []))
            }
        }
        let answer = result.take()
        if request.request == .takeover, answer.0.ok { step.withLock { $0 = request.step } }
        return answer
    }

    /// Descriptors that do not fit into the line's message follow with empty ones.
    private func send(
        _ answer: (response: ControlResponse, descriptors: [Int32])
    ) throws(SystemError) {
        var rest = answer.descriptors[...]
        var bytes = ControlLine.encode(answer.response)
        repeat {
            let part = rest.prefix(UnixStream.descriptorsMax)
            try stream.send(bytes, descriptors: Array(part))
            rest = rest.dropFirst(part.count)
            bytes = [UInt8(ascii: "\n")]
        } while !rest.isEmpty
        if step.withLock({ $0 }) == .finish { endTakeover() }
    }

    /// Once, also if the client left before it read the response.
    private func endTakeover() {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        Task { [host] in await host?.takeoverEnded() }
    }

    private func noteEnd() {
        guard let step = step.withLock({ $0 }) else { return }
        guard step != .finish else { return endTakeover() }
        Task { [host, number] in await host?.takeoverBroke(of: number) }
    }
}

extension ControlConnection: Hashable {
    static func == (left: ControlConnection, right: ControlConnection) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Passes a response from a task to the thread that waits for it.
private final class Answer: Sendable {
    private let given = Latch()
    private let response = Mutex<(ControlResponse, descriptors: [Int32])?>(nil)

    func give(_ response: (ControlResponse, descriptors: [Int32])) {
        self.response.withLock { $0 = response }
        given.countDown()
    }

    func take() -> (ControlResponse, descriptors: [Int32]) {
        given.wait()
        return response.withLock { $0 }
            ?? (.failure(ControlFailure("no answer", remedy: "ask again")), [])
    }
}
