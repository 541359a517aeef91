// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import Glibc
internal import LinuxNet
internal import ReusePortLB

struct CreateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a group that collectors of another user can join without privilege.",
        discussion: """
            It loads the program, which needs root or CAP_BPF and CAP_NET_ADMIN. The group stays until \
            `collector destroy` or a reboot. An existing group is resized to --count, if no member is in \
            a slot above.
            """)

    @Argument(help: "1 to 64 characters without '/' and '.'.")
    var name: String

    @Option(
        name: .customLong("count"),
        help: ArgumentHelp("Slots, 1 to the capacity.", valueName: "number"))
    var count: Int

    @Option(help: ArgumentHelp("The user that may join: a name or uid.", valueName: "user"))
    var owner: String?

    @Option(help: ArgumentHelp("Permissions of the pins, octal.", valueName: "mode"))
    var mode = "0600"

    @OptionGroup var balance: BalanceFlags
    @OptionGroup var root: PinRootFlag

    func validate() throws {
        try checkName(name)
        try balance.check(count: count)
        guard permissions != nil else {
            throw ValidationError("--mode takes an octal number such as 0600 or 0660")
        }
        guard owner == nil || account != nil else {
            throw ValidationError("--owner '\(owner ?? "")' is neither a user nor a uid")
        }
    }

    private var permissions: UInt32? {
        UInt32(mode, radix: 8).flatMap { $0 != 0 && $0 & ~0o666 == 0 ? $0 : nil }
    }

    private var account: Account? { owner.flatMap { Account($0) } }

    func run() throws {
        var options = GroupOptions(balance, root, count: count)
        options.owner = account?.uid
        options.ownerGroup = account?.group
        options.mode = permissions
        let group = try GroupOpening.open(name, options)
        if let account { try check(account) }
        if try group.info().count != count { try group.resize(count: count) }
        let info = try group.info()
        StandardStream.output.write(
            "group \(name) below \(root.pinRoot): \(info.count) slots, \(info.key), "
                + "seed \(info.seed)\n")
        if let account { warn(account) }
    }

    /// An existing group keeps its owner.
    private func check(_ account: Account) throws {
        let owner = SearchPath.owner(of: "\(root.pinRoot)/\(name)")
        guard let owner, owner != account.uid else { return }
        StandardStream.error.write(
            "collector: group \(name) exists already and belongs to uid \(owner), not "
                + "\(account.uid); collector destroy \(name) first, or create another\n")
        throw ExitCode(1)
    }

    /// Warns about a folder that the owner cannot search.
    private func warn(_ account: Account) {
        let folder = "\(root.pinRoot)/\(name)"
        if let closed = SearchPath.firstClosed(in: folder, to: account) {
            StandardStream.error.write(
                "collector: warning: uid \(account.uid) cannot search \(closed.path) (mode "
                    + "\(closed.mode)): chmod 711 \(closed.path), or create the group below another "
                    + "pin root\n")
        }
    }
}

struct DestroyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "destroy",
        abstract: "Remove a group without live members.")

    @Argument(help: "The group's name.")
    var name: String

    @OptionGroup var root: PinRootFlag

    func validate() throws { try checkName(name) }

    func run() throws { try ReusePortGroup.destroy(name, pinRoot: root.pinRoot) }
}
