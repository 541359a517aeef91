// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("Errors")
    struct ErrorTests {}
}

/// The error that `body` throws.
private func failure(_ body: () throws -> Void) throws -> ReusePortError {
    do {
        try body()
    } catch let error as ReusePortError {
        return error
    }
    throw Failed("nothing was thrown", 0)
}

extension ReusePortTests.ErrorTests {
    @Test("one line names the operation, the subject, the errno and a remedy")
    func line() throws {
        let group = try Place().group("netflow", count: 3)
        let endpoint = try Endpoint.free()
        let first = try ReusePortSocket(boundTo: endpoint)
        let second = try ReusePortSocket(boundTo: endpoint)
        let membership = try group.join(first, slot: 2)
        let error = try failure { _ = try group.join(second, slot: 2) }
        #expect(error.code == .slotTaken && error.errno == EEXIST && error.errnoName == "EEXIST")
        #expect(error.operation == "join slot 2 of" && error.subject == "group netflow")
        #expect(
            "\(error)"
                == "join slot 2 of group netflow: EEXIST: a live member has the slot: "
                + "end it, replace it, or use another slot")
        try membership.leave()
    }

    @Test("a refused join says why")
    func joins() throws {
        let group = try Place().group(count: 2)
        let endpoint = try Endpoint.free()
        let socket = try ReusePortSocket(boundTo: endpoint)
        for slot in [2, 128, 1 << 40, -1] {
            #expect(try failure { _ = try group.join(socket, slot: slot) }.code == .outOfRange)
        }
        let membership = try group.join(socket, slot: 0)
        #expect(try failure { _ = try group.join(socket, slot: 1) }.code == .busy)

        let other = try ReusePortSocket(boundTo: try .free())
        #expect(try failure { _ = try group.join(other, slot: 1) }.code == .otherAddress)

        let unbound = try Socket(family: AF_INET, type: Int32(SOCK_DGRAM.rawValue))
        try unbound.setOption("SO_REUSEPORT", level: SOL_SOCKET, SO_REUSEPORT, to: 1)
        let code = try failure { _ = try group.join(descriptor: unbound.descriptor, slot: 1) }.code
        #expect(code == .notBound)

        let alone = try Socket(family: AF_INET, type: Int32(SOCK_DGRAM.rawValue))
        try alone.bind(to: try .free())
        let unshared = try failure { _ = try group.join(descriptor: alone.descriptor, slot: 1) }
        #expect(unshared.code == .notSharingPort)

        let local = try Socket(family: AF_UNIX, type: Int32(SOCK_DGRAM.rawValue))
        for descriptor in [local.descriptor, Files.null, -1] {
            let error = try failure { _ = try group.join(descriptor: descriptor, slot: 1) }
            #expect(error.code == .wrongSocket, "\(error)")
        }
        #expect(try group.members().count == 1)
        try membership.leave()
    }

    @Test("a group that cannot be opened or created says why")
    func opens() throws {
        let place = try Place()
        func code(
            _ options: GroupOptions, name: String = "g"
        ) throws -> ReusePortError.Code {
            try failure { _ = try ReusePortGroup(name, options) }.code
        }
        #expect(try code(place.options(existingOnly: true)) == .notFound)
        #expect(try code(place.options()) == .notFound)
        for count in [1025, -1, 1 << 40] {
            #expect(try code(place.options(count: count)) == .outOfRange, "\(count)")
        }
        #expect(try code(GroupOptions(count: 129, pinRoot: place.pins.path)) == .outOfRange)
        for name in ["", "a/b", "a.b", String(repeating: "x", count: 65)] {
            #expect(try code(place.options(count: 1), name: name) == .invalid, "'\(name)'")
        }
        #expect(
            try code(GroupOptions(count: 1, pinRoot: try ScratchFolder().url.path))
                == .noBPFFileSystem)
        let group = try place.group(count: 2, seed: 1)
        #expect(try code(place.options(count: 2, key: .random)) == .settingsDiffer)
        #expect(try code(place.options(count: 2, seed: 2)) == .settingsDiffer)

        let socket = try ReusePortSocket(boundTo: try .free())
        let membership = try group.join(socket, slot: 1)
        #expect(try code(place.options(count: 1)) == .busy)
        #expect(try failure { try group.resize(count: 1) }.code == .busy)
        #expect(try failure { try group.resize(count: 0) }.code == .outOfRange)
        let destroy = { try ReusePortGroup.destroy("g", pinRoot: place.pins.path) }
        #expect(try failure(destroy).code == .busy)
        try membership.leave()
        try destroy()
        #expect(try failure(destroy).code == .notFound)
    }

    @Test("an address that a socket without SO_REUSEPORT has is in use")
    func inUse() throws {
        let endpoint = try Endpoint.free()
        let holder = try Socket(family: AF_INET, type: Int32(SOCK_DGRAM.rawValue))
        try holder.bind(to: endpoint)
        let error = try failure { _ = try ReusePortSocket(boundTo: endpoint) }
        #expect(error.code == .addressInUse && "\(error)".contains("\(endpoint)"), "\(error)")
    }

    @Test("without privilege a new group is refused with a remedy")
    func unprivileged() async throws {
        let place = try Place()
        let text = try await Privilege.without {
            "\(try failure { _ = try place.group(count: 1) })"
        }
        #expect(text.contains("EPERM") || text.contains("EACCES"), "\(text)")
        let lonely = try await Privilege.without {
            try failure { _ = try ReusePortGroup(private: GroupOptions(count: 1)) }
        }
        #expect(lonely.code == .notPermitted)
        #expect(lonely.remedy.contains("CAP_BPF"))
    }

    @Test("a missing pin root, or one on no BPF file system, is an error, not an empty list")
    func lists() throws {
        let error = try failure { _ = try ReusePortGroup.pinned(below: "/nowhere/at/all") }
        #expect(error.code == .noBPFFileSystem, "\(error)")
    }

    @Test("the error for an unknown interface names it")
    func noInterface() throws {
        let address = try #require(IPAddress("fe80::1%nosuch0"))
        let error = try failure {
            _ = try ReusePortSocket(boundTo: Endpoint(address, port: 9999))
        }
        #expect(error.errno == ENXIO && error.subject.contains("nosuch0"), "\(error)")
    }
}
