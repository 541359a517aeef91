// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import ReusePortLB

/// The state of one group, for `collector status`.
struct GroupStatus {
    struct Details {
        let info: GroupInfo
        let counters: [SlotCounters]
        let members: [Member]
        let leftToKernel: UInt64
        let flowsMissed: UInt64

        init(_ group: borrowing ReusePortGroup) throws(ReusePortError) {
            info = try group.info()
            counters = try group.counters()
            members = try group.members()
            leftToKernel = try group.leftToKernel()
            flowsMissed = try group.flowsMissed()
        }
    }

    let name: String
    let details: Result<Details, ReusePortError>

    init(_ name: String, _ pinRoot: String) {
        self.name = name
        var options = GroupOptions(pinRoot: pinRoot)
        options.existingOnly = true
        do throws(ReusePortError) {
            details = .success(try Details(ReusePortGroup(name, options)))
        } catch {
            details = .failure(error)
        }
    }

    /// Whether the group exists; true for a group that may not be read.
    var isThere: Bool {
        guard case .failure(let error) = details else { return true }
        return ![.notFound, .invalid, .noBPFFileSystem].contains(error.code)
    }

    var text: String {
        switch details {
        case .failure(let error):
            return "group \(Printable.line(name)): \(error.errnoName): \(error.remedy)\n"
        case .success(let details):
            let info = details.info
            let place = info.address.map { "at \($0)" } ?? "at no address yet"
            let flows =
                info.flows == 0
                ? "" : ", \(info.flows) flows remembered, \(details.flowsMissed) missed"
            let head =
                "group \(Printable.line(name)) \(place): \(info.key), seed \(info.seed), "
                + "\(info.count) slots, \(details.leftToKernel) packets left to the kernel"
            return head + flows + "\n" + Self.table(details)
        }
    }

    private static func table(_ details: Details) -> String {
        var rows = [
            [
                "slot", "member", "pid", "uid", "cookie", "since", "generation", "selected",
                "fallback", "missed",
            ]
        ]
        for (slot, counters) in details.counters.enumerated() {
            let counts = [counters.selected, counters.fallback, counters.missed].map { "\($0)" }
            let members = details.members.filter { $0.slot == slot }
            if members.isEmpty {
                rows.append(["\(slot)", "none", "-", "-", "-", "-", "-"] + counts)
            }
            for (number, member) in members.enumerated() {
                let facts = [
                    "\(slot)",
                    member.transport.rawValue + (member.isPrevious ? ", previous" : ""),
                    member.pid.map { "\($0)" } ?? "?", member.uid.map { "\($0)" } ?? "?",
                    "\(member.cookie)", since(member), member.generation.map { "\($0)" } ?? "?",
                ]
                // A slot's counters hold for its UDP and its TCP socket together.
                rows.append(facts + (number == 0 ? counts : ["", "", ""]))
            }
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            let line = "  " + cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed()) + "\n"
        }.joined()
    }

    private static func since(_ member: Member) -> String {
        guard let joined = member.joinedNanoseconds else { return "?" }
        return WallClock(nanosecondsSinceEpoch: joined).rfc3339
    }

    var json: JSON {
        switch details {
        case .failure(let error):
            return .object([("name", .string(name)), ("error", .string("\(error)"))])
        case .success(let details):
            let info = details.info
            return .object([
                ("name", .string(name)),
                ("address", info.address.map { .string("\($0)") } ?? .null),
                ("key", .string(info.key.name)),
                ("seed", .number(info.seed)),
                ("count", .number(UInt64(info.count))),
                ("capacity", .number(UInt64(info.capacity))),
                ("flows", .number(UInt64(info.flows))),
                ("flows_missed", .number(details.flowsMissed)),
                ("left_to_kernel", .number(details.leftToKernel)),
                (
                    "slots",
                    .array(
                        details.counters.enumerated().map { Self.json($0, $1, details.members) })
                ),
            ])
        }
    }

    private static func json(
        _ slot: Int, _ counters: SlotCounters, _ members: [Member]
    ) -> JSON {
        let members = members.filter { $0.slot == slot }.map { member in
            JSON.object([
                ("transport", .string(member.transport.rawValue)),
                ("pid", .optional(member.pid)),
                ("uid", .optional(member.uid)),
                ("joined_ns", .optional(member.joinedNanoseconds)),
                ("cookie", .number(member.cookie)),
                ("generation", .optional(member.generation)),
                ("previous", .bool(member.isPrevious)),
            ])
        }
        return .object(
            [("slot", .number(UInt64(slot)))] + counters.json + [("members", .array(members))])
    }
}
