// SPDX-License-Identifier: Apache-2.0

extension MetricsServer {
    /// What the server grants its clients. Beyond each limit the connection is closed.
    public struct Limits: Equatable, Sendable {
        /// Connections open at a time, 1 or more. When one more comes, the one that is the least
        /// loss makes room: rather one that has never sent a whole request than one that has, and
        /// never one that is waiting for the daemon.
        public var connections = 64
        /// Bytes of a request: its first line and its header. Longer ones are answered with 431.
        public var requestBytes = 16 * 1024
        /// From the connection's start, or a later request's first byte, to that request's end.
        public var requestTime: Duration = .seconds(5)
        /// Between an answer's end and the next request's first byte.
        public var idleTime: Duration = .seconds(5)
        /// For the daemon to take its snapshot; afterwards the answer is 503. And for the client to
        /// take the whole answer off its socket, however steadily it reads.
        public var answerTime: Duration = .seconds(10)
        /// How long a client may leave an answer unread before its connection may make room for
        /// another.
        public var stallTime: Duration = .seconds(1)
        /// After the last answer: for the client to read it and close its side. Closing at once
        /// while its bytes are still coming would reset the connection and destroy the answer.
        public var lingerTime: Duration = .seconds(1)
        /// How long `stop` waits for answers under way.
        public var stopTime: Duration = .seconds(2)

        public init() {}
    }
}
