// SPDX-License-Identifier: Apache-2.0

internal import Logging

/// Failures of a watch in the log: a line for each that is new, and one a minute for those that go on.
struct Trouble {
    let logger: Logger
    let resource: ResourcePath
    private var last: APIFailure.Kind?
    private var lastLine = ContinuousClock.now

    init(logger: Logger, resource: ResourcePath) {
        self.logger = logger
        self.resource = resource
    }

    private var fields: Logger.Metadata {
        ["namespace": "\(resource.namespace)", "service": "\(resource.service)"]
    }

    mutating func note(_ failure: APIFailure) {
        let isNew = failure.kind != last || .now - lastLine >= .seconds(60)
        // That a version is of no use is part of a watch's life.
        let level: Logger.Level = failure.isAboutVersion ? .info : .warning
        if !failure.isAboutVersion { last = failure.kind }
        guard isNew else { return }
        lastLine = .now
        let more: Logger.Metadata = [
            "error": "\(failure.detail)", "code": "\(failure.code)", "remedy": "\(failure.remedy)",
            "receivers": "the last known stay",
        ]
        logger.log(
            level: level, "\(failure.message)", metadata: fields.merging(more) { $1 })
    }

    mutating func isOver() {
        guard last != nil else { return }
        last = nil
        logger.info("k8s discovery: the API server answers again", metadata: fields)
    }
}
