// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

/// The argument of --slot.
enum Slot: ExpressibleByArgument, Equatable {
    case number(Int)
    /// The first slot without a member.
    case auto

    init?(argument: String) {
        if argument == "auto" {
            self = .auto
        } else if let number = Int(argument) {
            self = .number(number)
        } else {
            return nil
        }
    }

    /// Checks it before the group is opened.
    func check(count: Int?, replaces: Bool) throws {
        switch self {
        case .auto where replaces:
            throw ValidationError("--replace needs a number as --slot: that of the live member")
        case .number(let number)
        where !(0..<(count ?? ReusePortGroup.maximumCount)).contains(number):
            throw ValidationError("--slot takes auto, or a number from 0 to the group's count - 1")
        default: break
        }
    }

    /// Calls `join` with the slot; with `auto` for one slot after another until one has no member. Processes that do so
    /// at the same time get different slots.
    ///
    /// - Parameter count: the count that the group was opened with.
    func take(
        in group: borrowing ReusePortGroup, count: Int?, _ join: (Int) throws -> Void
    ) throws {
        guard case .auto = self else {
            if case .number(let number) = self { try join(number) }
            return
        }
        let count = try count ?? group.info().count
        for number in 0..<count {
            do {
                return try join(number)
            } catch let error as ReusePortError where error.code == .slotTaken {}
        }
        StandardStream.error.write(
            "collector: join group \(group.name ?? ""): all \(count) slots have a live member; end one, or give a "
                + "higher --count\n")
        throw ExitCode(1)
    }
}

extension Slot: CustomStringConvertible {
    var description: String {
        switch self {
        case .number(let number): "\(number)"
        case .auto: "auto"
        }
    }
}
