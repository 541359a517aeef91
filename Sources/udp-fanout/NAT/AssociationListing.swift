// SPDX-License-Identifier: Apache-2.0

#if KernelModes
    internal import ArgumentParser
    internal import FanoutCore
    internal import LinuxNet
    internal import XDPNATPlane

    /// The output of `nat show`: the associations in kernel order, then their counts.
    struct AssociationListing {
        private let isJSON: Bool
        private let showsCountsAlone: Bool
        private var answered = 0
        private var unanswered = 0
        private var void = 0
        private var byServer: [Endpoint: Int] = [:]
        private var text = ""
        /// Whether all output was written.
        private var isWhole = true

        init(isJSON: Bool, showsCountsAlone: Bool) {
            self.isJSON = isJSON
            self.showsCountsAlone = showsCountsAlone
            if isJSON { text = "{\"associations\": [" }
        }

        mutating func add(_ association: Association) {
            defer { count(association) }
            guard !showsCountsAlone else { return }
            if isJSON {
                text += (answered + unanswered == 0 ? "\n  " : ",\n  ") + object(association)
            } else {
                text += line(association)
            }
            if text.utf8.count > 1 << 16 {
                isWhole = StandardStream.output.write(text) && isWhole
                text = ""
            }
        }

        private mutating func count(_ association: Association) {
            if association.isAnswered { answered += 1 } else { unanswered += 1 }
            if let server = association.server {
                byServer[server, default: 0] += 1
            } else {
                void += 1
            }
        }

        private func line(_ association: Association) -> String {
            let server = association.server.map { "\($0)" } ?? "(gone)"
            let service = association.service.map { "\($0)" } ?? "-"
            return "\(association.transport.rawValue) \(association.client) -> \(service) -> "
                + "\(server) age \(association.ageSeconds)s "
                + (association.isAnswered ? "answered" : "unanswered") + "\n"
        }

        private func object(_ association: Association) -> String {
            func quoted(_ endpoint: Endpoint?) -> String {
                endpoint.map { "\"\($0)\"" } ?? "null"
            }
            return "{\"protocol\": \"\(association.transport.rawValue)\", "
                + "\"client\": \(quoted(association.client)), "
                + "\"service\": \(quoted(association.service)), "
                + "\"server\": \(quoted(association.server)), "
                + "\"age_seconds\": \(association.ageSeconds), "
                + "\"answered\": \(association.isAnswered)}"
        }

        /// Prints the rest and the counts.
        mutating func end(interfaces: [String]) throws {
            let servers = byServer.sorted { $0.key < $1.key }
            if isJSON {
                let counts = servers.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", ")
                text +=
                    "\n], \"answered\": \(answered), \"unanswered\": \(unanswered), "
                    + "\"gone\": \(void), \"servers\": {\(counts)}}\n"
            } else {
                for (server, count) in servers { text += "server \(server): \(count)\n" }
                text +=
                    "\(answered + unanswered) associations on "
                    + "\(interfaces.joined(separator: ", ")): \(answered) answered, "
                    + "\(unanswered) unanswered, \(void) of servers that are gone\n"
            }
            guard StandardStream.output.write(text), isWhole else { throw ExitCode(1) }
        }
    }
#endif
