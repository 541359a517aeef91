// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import ReusePortLB

/// Where groups are pinned.
struct PinRootFlag: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder below which groups are pinned, on a BPF file system.", valueName: "path"))
    var pinRoot = ReusePortGroup.defaultPinRoot

    func validate() throws {
        guard pinRoot.hasPrefix("/") else {
            throw ValidationError("--pin-root takes an absolute path")
        }
    }
}

/// What a group balances by, and its size.
struct BalanceFlags: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The flow key: source_ip, four_tuple, round_robin, random, payload or cpu.",
            discussion: "Default: the group's key; source_ip for a new group.", valueName: "key"),
        transform: { text in
            let names = ReusePortGroup.Key.plain.map(\.name) + ["payload"]
            guard names.contains(text) else {
                throw ValidationError("must be one of \(names.joined(separator: ", "))")
            }
            return text
        })
    var key: String?

    @Option(
        help: ArgumentHelp(
            "The bytes of the UDP payload, with --key payload: offset=N,length=N or a preset.",
            discussion: "Presets: ipfix_domain, netflow_source, radius_id, sip_call_id; "
                + "quic_server_id,offset=N,length=N and dtls_server_id,offset=N,length=N, within the "
                + "connection ID. ',skip=N' skips an encapsulation in front.",
            valueName: "bytes"),
        transform: { text in
            guard let key = PayloadKey(text) else {
                throw ValidationError("write offset=N,length=N, or a preset such as ipfix_domain")
            }
            if let fault = key.fault { throw ValidationError(fault) }
            return key
        })
    var payloadKey: PayloadKey?

    @Option(
        help: ArgumentHelp(
            "Mixed into the hash; hosts with the same seed and count choose alike.",
            discussion: "Default: the group's seed; 0 for a new group.", valueName: "number"))
    var seed: UInt64?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How many flows a new group remembers: they keep their member when the count changes.",
            discussion: "1 to 1048576. Default: the group's; none for a new group.",
            valueName: "number"))
    var flows: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The highest count of a new group, up to 1024.",
            discussion: "Default: the group's; 128 for a new group.", valueName: "number"))
    var capacity: Int?

    func validate() throws {
        guard flows.map({ (1...1 << 20).contains($0) }) ?? true else {
            throw ValidationError("--flows takes a number from 1 to 1048576")
        }
        guard capacity.map({ (1...ReusePortGroup.maximumCapacity).contains($0) }) ?? true else {
            throw ValidationError(
                "--capacity takes a number from 1 to \(ReusePortGroup.maximumCapacity)")
        }
        guard (key == "payload") == (payloadKey != nil) else {
            throw ValidationError("--key payload and --payload-key go together")
        }
    }

    var groupKey: ReusePortGroup.Key? {
        if let payloadKey { return .payload(payloadKey) }
        return ReusePortGroup.Key.plain.first { $0.name == key }
    }

    /// Checks a count before the group is opened. An existing group has a capacity of its own.
    func check(count: Int) throws {
        let most = capacity ?? ReusePortGroup.maximumCapacity
        guard (1...most).contains(count) else {
            throw ValidationError("COUNT must be a number from 1 to \(most)")
        }
    }

    /// The same options on a command line.
    var words: [String] {
        var words: [String] = []
        if let key { words += ["--key", key] }
        if let payloadKey { words += ["--payload-key", "\(payloadKey)"] }
        if let seed { words += ["--seed", "\(seed)"] }
        if let flows { words += ["--flows", "\(flows)"] }
        if let capacity { words += ["--capacity", "\(capacity)"] }
        return words
    }
}

extension GroupOptions {
    /// The options that every command of the collector opens a group with.
    init(_ balance: BalanceFlags, _ root: PinRootFlag, count: Int?) {
        self.init(count: count, key: balance.groupKey, pinRoot: root.pinRoot)
        seed = balance.seed
        flows = balance.flows
        capacity = balance.capacity
        // As bpftool does. At any other path a missing file system is probably a wrong path.
        mountsFileSystem = geteuid() == 0 && root.pinRoot == ReusePortGroup.defaultPinRoot
    }
}

/// Checks that the library accepts a group's name.
func checkName(_ name: String) throws {
    let isPlain = !name.contains { $0 == "/" || $0 == "." }
    guard (1...64).contains(name.utf8.count), isPlain else {
        throw ValidationError("a group's name has 1 to 64 characters without '/' and '.'")
    }
}

/// Opens a group for a command, and adds hints to some errors.
enum GroupOpening {
    /// - Throws: `ExitCode` when the error has been reported, else the library's error.
    static func open(_ name: String, _ options: GroupOptions) throws -> ReusePortGroup {
        let tail = LogTail()
        var options = options
        options.log = { level, line in tail.add(level, line) }
        let refusal: ReusePortError
        do throws(ReusePortError) {
            let group = try ReusePortGroup(name, options)
            tail.groupIsOpen()
            return group
        } catch {
            refusal = error
        }
        let more: [String]
        switch refusal.code {
        case .programRefused: more = tail.lines.map { "the log: \(Printable.line($0))" }
        case .notPermitted: more = [maker(of: name, options)]
        default: throw refusal
        }
        for line in ["\(refusal)"] + more {
            StandardStream.error.write("collector: \(line)\n")
        }
        throw ExitCode(1)
    }

    private static func maker(of name: String, _ options: GroupOptions) -> String {
        var words = "collector create \(name) --count \(options.count ?? 1) --owner USER"
        if let root = options.pinRoot, root != ReusePortGroup.defaultPinRoot {
            words += " --pin-root \(root)"
        }
        return "as root: \(words); --group NAME joins another group"
    }
}

/// The name of a group without --group.
enum GroupName {
    /// `collector-10-0-2-15-10001`: the address and port of all its members. A BPF file system allows no dots
    /// (kernel/bpf/inode.c, bpf_lookup). Colons and percent signs are replaced too, for shells.
    static func of(_ endpoint: Endpoint) -> String {
        let address = endpoint.address.description.map { character in
            character.isASCII && (character.isLetter || character.isNumber) ? character : "-"
        }
        return "collector-\(String(address))-\(endpoint.port)"
    }
}
