// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

/// The slot that `exec` and `adopt` put a program's socket into.
struct SlotFlags: ParsableArguments {
    @Option(help: ArgumentHelp("The group's name.", valueName: "name"))
    var group: String

    @Option(
        help: ArgumentHelp(
            "How many slots the group has; a group with another count is resized.",
            discussion: "Default: the group's count; a new group needs one.", valueName: "number"))
    var count: Int?

    @Option(
        help: ArgumentHelp(
            "The slot, 0 to the group's count - 1, or auto for the first one without a member.",
            valueName: "index|auto"))
    var slot: Slot

    @Flag(help: "Replace the live member of the slot.")
    var replace = false

    @OptionGroup var root: PinRootFlag
    @OptionGroup var balance: BalanceFlags

    func validate() throws {
        try checkName(group)
        if let count { try balance.check(count: count) }
        try slot.check(count: count, replaces: replace)
    }

    /// Opens the group, and creates it if need be.
    func open() throws -> ReusePortGroup {
        try GroupOpening.open(group, GroupOptions(balance, root, count: count))
    }

    /// The same options on a command line.
    var words: [String] {
        var words = ["--group", group, "--slot", "\(slot)", "--pin-root", root.pinRoot]
        if let count { words += ["--count", "\(count)"] }
        if replace { words.append("--replace") }
        return words + balance.words
    }
}

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
        where !(0..<(count ?? ReusePortGroup.maximumCapacity)).contains(number):
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
