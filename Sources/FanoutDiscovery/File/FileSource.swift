// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import Logging

/// Receivers listed in a file, which is read again when it changes. A missing or malformed file changes nothing and
/// is logged once.
struct FileSource: DiscoverySource {
    private let path: String
    private let port: UInt16?
    private let interval: Duration
    private let logger: Logger
    private let tally = SourceTally()

    /// - Parameters:
    ///   - port: of receivers without one.
    ///   - interval: the polling interval.
    init(
        path: String, port: UInt16?, interval: Duration = .milliseconds(250), logger: Logger
    ) {
        self.path = path
        self.port = port
        self.interval = interval
        self.logger = logger
    }

    var status: SourceStatus { tally.status }

    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async {
        let state = FileState(of: path)
        tally.relist(.start)
        let isRead = read(publish)
        let watch = FileWatch(path: path, interval: interval)
        await watch.run(
            since: isRead ? state : nil, tellsOfAbsence: true, unchanged: tally.reconfirm
        ) {
            guard !Task.isCancelled else { return true }
            logger.debug(
                "file discovery: the file has changed", metadata: ["path": "\(path)"])
            tally.relist(.changed)
            return read(publish)
        }
    }

    /// - Returns: false if the same file may become readable.
    private func read(_ publish: @Sendable (DiscoveredSet) -> Void) -> Bool {
        do throws(ReceiverFile.Unusable) {
            let found = try ReceiverFile.receivers(at: path, port: port)
            tally.confirm()
            publish(found)
            logger.info(
                "file discovery: receivers read",
                metadata: ["path": "\(path)", "receivers": "\(found.endpoints.count)"])
            return true
        } catch {
            refuse(error)
            return !error.mayPass
        }
    }

    private func refuse(_ error: ReceiverFile.Unusable) {
        guard tally.error(error.code, error.description) else { return }
        logger.warning(
            tally.hasAnswered
                ? "file discovery: the file cannot be used, the last-known receivers stay active"
                : "file discovery: the file cannot be used",
            metadata: ["path": "\(path)", "error": "\(error)"])
    }
}
