// SPDX-License-Identifier: Apache-2.0

internal import AsyncHTTPClient
internal import Logging
internal import NIOCore

// Lists a resource, watches it from the list's version, and does not stop.
//
//   list ──── version ───▶ watch ──── events, bookmarks: a newer version ──┐
//    ▲                     │ ▲                                             │
//    │ the version is of   │ └───── end of the watch, an error of the way ─┘
//    │ no use any more     │
//    └─────────────────────┘

/// Follows the objects of one resource of a cluster.
struct ListWatch<Object: WatchedObject>: Sendable {
    let client: APIClient
    let resource: ResourcePath
    let timing: WatchTiming
    let tally: SourceTally
    let logger: Logger

    /// What is known: the objects by name, as of a version.
    private struct Known {
        var objects: [String: Object] = [:]
        /// Nil if a new list is needed.
        var version: String?
    }

    /// Calls `changed` with all objects whenever they may have changed, until the task is cancelled.
    func run(_ changed: ([Object]) -> Void) async {
        var known = Known()
        var reason = RelistReason.start
        var backoff = Backoff(base: timing.backoffBase, longest: timing.longestBackoff)
        var trouble = Trouble(logger: logger, resource: resource)
        // Consecutive unusable versions.
        var uselessVersions = 0
        while !Task.isCancelled {
            let begin = ContinuousClock.now
            var hasHeard = false
            do throws(APIFailure) {
                if known.version == nil {
                    tally.relist(reason)
                    known = try await list()
                    trouble.isOver()
                    tally.confirm()
                    changed(Array(known.objects.values))
                    noteBegin(known, reason)
                }
                try await watch(&known) { objects in
                    hasHeard = true
                    uselessVersions = 0
                    trouble.isOver()
                    tally.confirm()
                    if let objects { changed(objects) }
                }
                if hasHeard || .now - begin >= timing.soundWatch {
                    backoff.reset()
                } else {
                    // Backs off if watches repeatedly end before the first event.
                    await pause(backoff.next())
                }
            } catch {
                if Task.isCancelled { return }
                tally.error(error.code)
                trouble.note(error)
                if hasHeard || .now - begin >= timing.soundWatch { backoff.reset() }
                if let next = Self.relist(after: error, known.version != nil) {
                    known.version = nil
                    reason = next
                }
                if error.isAboutVersion { uselessVersions += 1 }
                // A new list remedies an unusable version, so the first retry is immediate.
                if known.version == nil, error.isAboutVersion, uselessVersions == 1 { continue }
                await pause(max(backoff.next(), min(error.retryAfter ?? .zero, .seconds(60))))
            }
        }
    }

    private func noteBegin(_ known: Known, _ reason: RelistReason) {
        logger.info(
            "starting \(resource.kind) watch",
            metadata: [
                "namespace": "\(resource.namespace)", "service": "\(resource.service)",
                "objects": "\(known.objects.count)", "reason": "\(reason.rawValue)",
            ])
    }

    /// Why this failure of a watch requires a new list; nil: it does not.
    private static func relist(after failure: APIFailure, _ wasWatching: Bool) -> RelistReason? {
        guard wasWatching else { return nil }
        switch failure.kind {
        case .expired: return .expired
        case .futureVersion: return .future
        case .malformed: return .broken
        case .status(429), .status(404): return nil
        case .status(let code): return (400..<500).contains(code) ? .broken : nil
        case .unauthorized, .forbidden, .tls, .connection, .timeout, .credentials: return nil
        }
    }

    private func pause(_ duration: Duration) async { try? await Task.sleep(for: duration) }

    /// Lists all objects, page by page, with their version.
    private func list() async throws(APIFailure) -> Known {
        do throws(APIFailure) {
            return try await list(pageSize: timing.pageSize)
        } catch {
            // The version of the first page has expired: list again in one piece.
            guard error.kind == .expired else { throw error }
            return try await list(pageSize: nil)
        }
    }

    private func list(pageSize: Int?) async throws(APIFailure) -> Known {
        var known = Known()
        var next: String?
        repeat {
            let page = try await client.get(
                ObjectList<Object>.self, resource.list(pageSize: pageSize, from: next),
                within: timing.listLimit)
            for object in page.items ?? [] {
                guard let name = object.metadata.name else {
                    throw APIFailure(.malformed, "an object without a name")
                }
                known.objects[name] = object
            }
            known.version = page.metadata.resourceVersion
            next = page.metadata.continue.flatMap { $0.isEmpty ? nil : $0 }
        } while next != nil
        guard known.version != nil else {
            throw APIFailure(.malformed, "a list without a version")
        }
        return known
    }

    /// Applies events until the watch ends.
    ///
    /// - Parameter heard: called after events, with all objects if they may have changed. Events that arrive
    ///   together give one call.
    private func watch(
        _ known: inout Known, _ heard: ([Object]?) -> Void
    ) async throws(APIFailure) {
        guard let version = known.version else { return }
        let path = resource.watch(from: version, timing.watchDuration)
        let body = try await client.stream(path, within: timing.watchDuration + timing.watchGrace)
        var lines = LineBuffer()
        var chunks = body.makeAsyncIterator()
        while true {
            let chunk: ByteBuffer?
            do { chunk = try await chunks.next() } catch { throw APIFailure(of: error) }
            guard let chunk else { return }
            lines.append(chunk)
            var hasHeard = false
            var hasChanged = false
            // Events before an invalid line still count.
            defer { if hasHeard { heard(hasChanged ? Array(known.objects.values) : nil) } }
            while let line = try lines.next() {
                hasChanged = try take(line, &known) || hasChanged
                hasHeard = true
            }
        }
    }

    /// - Returns: whether the objects may have changed.
    private func take(_ line: ByteBuffer, _ known: inout Known) throws(APIFailure) -> Bool {
        switch try APIClient.decode(WatchEvent<Object>.self, line) {
        case .present(let object):
            guard let name = object.metadata.name else {
                throw APIFailure(.malformed, "an object without a name")
            }
            known.objects[name] = object
            known.version = object.metadata.resourceVersion ?? known.version
            return true
        case .deleted(let object):
            if let name = object.metadata.name { known.objects[name] = nil }
            known.version = object.metadata.resourceVersion ?? known.version
            return true
        case .bookmark(let version):
            known.version = version
            return false
        case .error(let status):
            var failure = APIFailure(code: status.code ?? 500, status: status)
            if case .status = failure.kind {
                failure = APIFailure(.malformed, failure.detail)
            }
            throw failure
        }
    }
}

/// The timing of a watch.
struct WatchTiming: Sendable {
    /// The first delay after a failure, and the longest.
    var backoffBase = Duration.milliseconds(500)
    var longestBackoff = Duration.seconds(30)
    /// The maximum number of objects in one page of a list.
    var pageSize = 500
    /// The time limit for one page of a list.
    var listLimit = Duration.seconds(30)
    /// The shortest time after which the server should end a watch; randomized, so that the watches of many nodes
    /// are spread out.
    var shortestWatch = Duration.seconds(240)
    /// How long to wait for that end before the connection counts as dead.
    var watchGrace = Duration.seconds(30)

    /// A watch of this duration has worked, even without events.
    var soundWatch = Duration.seconds(10)

    var watchDuration: Duration {
        .seconds(Int64((Double(shortestWatch.components.seconds) * .random(in: 1...1.5)).rounded()))
    }
}

/// Splits a stream of chunks into lines.
struct LineBuffer {
    /// The longest line in bytes; an EndpointSlice of 1 000 endpoints takes about a tenth of it.
    static let longest = 8 << 20

    private var buffer = ByteBuffer()
    /// Bytes from the reader index on that contain no newline.
    private var searched = 0

    mutating func append(_ chunk: ByteBuffer) {
        buffer.discardReadBytes()
        buffer.writeImmutableBuffer(chunk)
    }

    /// The next complete line, without its newline; nil if there is none yet. Skips blank lines.
    ///
    /// - Throws: `APIFailure` if a line exceeds `longest`.
    mutating func next() throws(APIFailure) -> ByteBuffer? {
        while true {
            let rest = buffer.readableBytesView.dropFirst(searched)
            guard let newline = rest.firstIndex(of: UInt8(ascii: "\n")) else {
                searched = buffer.readableBytes
                guard searched <= Self.longest else {
                    throw APIFailure(.malformed, "a line of more than \(Self.longest) bytes")
                }
                return nil
            }
            let line = buffer.readSlice(length: newline - buffer.readerIndex)
            buffer.moveReaderIndex(forwardBy: 1)
            searched = 0
            if let line, line.readableBytes > 0 { return line }
        }
    }
}
