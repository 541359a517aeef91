// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

@Suite("A value is read as its key demands, or refused with what to write", .tags(.unit))
struct ValueTests {
    @Test(
        "what YAML 1.1 takes for something else is text where a name is wanted",
        arguments: [
            "no", "on", "012", "1:30", "0x10", "3.0", "true", "2024-01-01", "'null'", "\"~\"", "-",
        ])
    func namesStayText(written: String) {
        let reading = Reading(Reading.good.replacing("name: a\n", with: "name: \(written)x\n"))
        let bare = Reading(Reading.good.replacing("name: a\n", with: "name: \(written)\n"))
        let text = written.filter { !"'\"".contains($0) }
        if written == "-" {
            // A dash alone begins a list.
            #expect(bare.errors.count == 1)
            #expect(reading.listener?.name == "-x")
        } else {
            #expect(bare.listener?.name == text)
        }
    }

    static let integers: [(String, String)] = [
        ("012", "'012' is not a number in plain decimal digits; write 12"),
        ("1:30", "'1:30' is not a number in plain decimal digits; write 90"),
        ("0x10", "'0x10' is not a number in plain decimal digits; write 16"),
        ("0o17", "'0o17' is not a number in plain decimal digits; write 15"),
        ("0b11", "'0b11' is not a number in plain decimal digits; write 3"),
        ("1e3", "'1e3' is not a number in plain decimal digits; write 1000"),
        ("1_000", "'1_000' is not a number in plain decimal digits; write 1000"),
        ("3.0", "'3.0' is not a number in plain decimal digits; write 3"),
        ("+8", "'+8' is not a number in plain decimal digits; write 8"),
        ("-8", "'-8' is not a number in plain decimal digits; write a whole number from 1 to 1024"),
        (
            "3.5",
            "'3.5' is not a number in plain decimal digits; write a whole number from 1 to 1024"
        ),
        (
            "many",
            "'many' is not a number in plain decimal digits; write a whole number from 1 to 1024"
        ),
        (
            ".inf",
            "'.inf' is not a number in plain decimal digits; write a whole number from 1 to 1024"
        ),
        ("\"514\"", "514 is quoted; write 514 without quotes"),
        ("'2000'", "2000 is quoted; write a whole number from 1 to 1024"),
        ("0", "0 is out of range; write a whole number from 1 to 1024"),
        ("1025", "1025 is out of range; write a whole number from 1 to 1024"),
        (
            "99999999999999999999",
            "99999999999999999999 is out of range; write a whole number from 1 to 1024"
        ),
        ("", "is empty; write a whole number from 1 to 1024"),
        ("~", "is empty; write a whole number from 1 to 1024"),
        ("null", "is empty; write a whole number from 1 to 1024"),
        ("\"\"", "is empty; write a whole number from 1 to 1024"),
        ("[1]", "is not a single value; write a whole number from 1 to 1024"),
        ("{a: 1}", "is not a single value; write a whole number from 1 to 1024"),
    ]

    @Test("a whole number is plain decimal digits and nothing else", arguments: integers)
    func integer(written: String, problem: String) {
        let reading = Reading(Reading.good + "settings:\n  batch_size: \(written)\n")
        let column = written.isEmpty ? 14 : 15
        #expect(reading.errors == ["f:6:\(column): settings.batch_size: \(problem)"])
    }

    static let booleans: [(String, String)] = [
        ("yes", "'yes' is not a boolean; write true"), ("On", "'On' is not a boolean; write true"),
        ("True", "'True' is not a boolean; write true"), ("1", "'1' is not a boolean; write true"),
        ("no", "'no' is not a boolean; write false"),
        ("off", "'off' is not a boolean; write false"),
        ("FALSE", "'FALSE' is not a boolean; write false"),
        ("n", "'n' is not a boolean; write false"),
        ("maybe", "'maybe' is not a boolean; write true or false"),
        ("\"true\"", "true is quoted; write true without quotes"),
        ("'no'", "'no' is not a boolean; write false"), ("", "is empty; write true or false"),
    ]

    @Test("a boolean is true or false and no other word", arguments: booleans)
    func boolean(written: String, problem: String) {
        let reading = Reading(Reading.good + "settings:\n  pin_cpus: \(written)\n")
        let column = written.isEmpty ? 12 : 13
        #expect(reading.errors == ["f:6:\(column): settings.pin_cpus: \(problem)"])
    }

    static let endpoints: [(String, String)] = [
        ("1:30", "'1' is not an IP address (names are not resolved); write ip:port, such as"),
        (
            "localhost:514",
            "'localhost' is not an IP address (names are not resolved); write ip:port"
        ),
        ("192.0.2.1", "'192.0.2.1' is not ip:port; write ip:port, such as"),
        ("192.0.2.010:1", "'192.0.2.010' is not an IP address"),
        ("::1:514", "'::1:514' is not ip:port; write ip:port, such as"),
        ("192.0.2.1:0", "'0' is not a port; write a number from 1 to 65535 behind the colon"),
        ("192.0.2.1:65536", "'65536' is not a port; write a number from 1 to 65535"),
        ("192.0.2.1:syslog", "'syslog' is not a port; write a number from 1 to 65535"),
        (
            "\"[fe80::1]:514\"",
            "fe80::1 is link-local and names no interface; write [fe80::1%eth0]:port"
        ),
        (
            "\"[2001:db8::1%eth0]:1\"",
            "2001:db8::1 is not link-local and takes no zone; write it without"
        ),
        ("\"[fe80::1%a/b]:1\"", "'fe80::1%a/b' is not an IP address"),
        ("\"\"", "is empty; write ip:port, such as"),
        ("514", "'514' is not ip:port; write ip:port"),
        ("\"a\\nb\\u0007\"", "'a<U+000A>b<U+0007>' is not ip:port; write ip:port"),
    ]

    @Test("an address is ip:port with a zone only where it is needed", arguments: endpoints)
    func endpoint(written: String, problem: String) {
        let reading = Reading(
            listener: "bind: \(written)\ndownstream: [{name: r, address: '192.0.2.9:1'}]")
        #expect(reading.errors.count == 1)
        #expect(reading.errors.first?.hasPrefix("f:3:11: listeners[0].bind: \(problem)") == true)
    }

    static let names: [(String, String)] = [
        ("", "is empty; write a name"), ("null", "is empty; write a name"),
        ("\"a\\tb\"", "'a<U+0009>b' holds the control character U+0009; write the name without it"),
        ("\"a\\nb\"", "'a<U+000A>b' holds the control character U+000A; write the name without it"),
        (
            "\"\\u202eb\"",
            "'<U+202E>b' holds the control character U+202E; write the name without it"
        ),
        ("\"\\u0085\"", "'<U+0085>' holds the control character U+0085; write the name without it"),
        (
            String(repeating: "a", count: 129),
            "is 129 bytes long; write a name of at most 128 bytes"
        ),
        ("[a]", "is not a single value; write a name"),
    ]

    @Test("a name is short and shows what it is", arguments: names)
    func name(written: String, problem: String) {
        let reading = Reading(Reading.good.replacing("name: a\n", with: "name: \(written)\n"))
        let column = written.isEmpty ? 10 : 11
        #expect(reading.errors == ["f:2:\(column): listeners[0].name: \(problem)"])
    }

    static let words: [(String, String)] = [
        (
            "mode: tc-ebpf",
            "mode: 'tc-ebpf' is not a mode; write tc_ebpf (or userspace, af_xdp or xdp_nat)"
        ),
        (
            "mode: Userspace",
            "mode: 'Userspace' is not a mode; write userspace (or tc_ebpf, af_xdp or xdp_nat)"
        ),
        (
            "mode: kernel",
            "mode: 'kernel' is not a mode; write userspace, tc_ebpf, af_xdp or xdp_nat"
        ),
        (
            "balance: four_tupel",
            "balance: 'four_tupel' is not a balance; write four_tuple (or round_robin, random, source_ip or payload)"
        ),
        (
            "settings: {steer: sourceip}",
            "settings.steer: 'sourceip' is not a steer; write source_ip (or kernel or cpu)"
        ),
        (
            "settings: {steer: ebpf}",
            "settings.steer: 'ebpf' is not a steer; write source_ip, kernel or cpu"
        ),
        (
            "settings: {tc_attach: xdp}",
            "settings.tc_attach: 'xdp' is not a tc_attach; write auto, tcx or clsact"
        ),
        (
            "settings: {xdp_mode: generic}",
            "settings.xdp_mode: 'generic' is not a xdp_mode; write auto, native or skb"
        ),
    ]

    @Test("a word of an enumeration is met with the nearest one", arguments: words)
    func word(line: String, problem: String) {
        let reading = Reading(
            listener: "bind: 0.0.0.0:514\n\(line)\ndownstream: [{name: r, address: '192.0.2.9:1'}]")
        #expect(reading.errors.count == 1)
        #expect(reading.errors.first?.hasSuffix("listeners[0].\(problem)") == true)
    }

    @Test(
        "featherlb's spellings of balance are read",
        arguments: [("roundrobin", Balance.roundRobin), ("iphash", .sourceIP), ("random", .random)])
    func featherlb(written: String, balance: Balance) {
        let reading = Reading(
            listener: """
                bind: 0.0.0.0:514
                balance: \(written)
                downstream: [{name: r, address: '192.0.2.9:1'}]
                """)
        #expect(reading.listener?.balance == balance)
    }

    static let others: [(String, String)] = [
        ("metrics: {path: metrics}", "metrics.path: 'metrics' does not begin with /"),
        (
            "metrics: {path: /healthz}",
            "metrics.path: '/healthz' is where the daemon answers health checks"
        ),
        ("metrics: {path: '/a b'}", "metrics.path: '/a b' holds blanks or characters other than"),
        ("metrics: {path: '/a?b'}", "metrics.path: '/a?b' holds a query or a fragment"),
        ("metrics: {bind: ':9090'}", "metrics.bind: '' is not an IP address"),
        ("settings:", "settings: is empty; write its keys below it, indented"),
        ("settings: [1]", "settings: is not a mapping; write its keys below it, indented"),
    ]

    @Test("the values of the other sections are checked", arguments: others)
    func other(line: String, problem: String) {
        let reading = Reading(Reading.good + line + "\n")
        #expect(reading.errors.count == 1)
        #expect(reading.errors.first?.contains(": \(problem)") == true, "\(reading.errors)")
    }

    static let kubernetesCases: [(String, String)] = [
        ("{service: s}", "kubernetes.port: is missing; write a number from 1 to 65535"),
        ("{port: 1}", "kubernetes.service: is missing; write lower-case letters"),
        ("{service: S, port: 1}", "kubernetes.service: 'S' is not a DNS label"),
        ("{service: s, port: 1, namespace: -a}", "kubernetes.namespace: '-a' is not a DNS label"),
        ("{service: s, port: 0}", "kubernetes.port: '0' is not a port"),
        ("{service: s, port: 65536}", "kubernetes.port: '65536' is not a port"),
        ("{service: s, port: '5514'}", "write 5514 without quotes"),
        ("{service: s, port: 0x50}", "write 80"), ("{service: s, port: 012}", "write 12"),
        ("{service: s, port: a_b}", "kubernetes.port: 'a_b' is not a port"),
        ("[]", "kubernetes: is not a mapping"),
        ("{service: s, port: 1, vip: yes}", "kubernetes.vip: 'yes' is not a boolean; write true"),
        (
            "{service: s, port: 1, vip: true}",
            "kubernetes.vip: has no meaning in mode userspace, which serves bind alone"
        ),
    ]

    static let sourceCases: [(String, String)] = [
        ("file: {port: 1}", "file.path: is missing; write a text of 1 to 512 bytes"),
        ("file: {path: a, port: 0}", "file.port: 0 is out of range"),
        ("file: {path: a, prot: 1}", "file.prot: unknown key; write port"),
        ("file: a", "file: is not a mapping"),
        ("dns: {port: 1}", "dns.name: is missing; write a name such as receivers.example.com"),
        ("dns: {name: 'a b'}", "dns.name: 'a b' is not a name of DNS"),
        ("dns: {name: a..b}", "dns.name: 'a..b' is not a name of DNS"),
        (
            "dns: {name: 10.0.0.1, port: 1}",
            "10.0.0.1 is an address and needs no DNS; write downstream"
        ),
        ("dns: {name: a.b, server: b}", "dns.server: 'b' is not ip:port"),
    ]

    @Test("the blocks file and dns are checked", arguments: sourceCases)
    func otherSources(block: String, problem: String) {
        let reading = Reading(listener: "bind: 0.0.0.0:514\n\(block)")
        #expect(reading.errors.contains { $0.contains(problem) }, "\(reading.errors)")
    }

    @Test("receivers in a file, and those that a name stands for, are looked up")
    func lookedUp() throws {
        let file = Reading(listener: "bind: 0.0.0.0:1\nfile: {path: /etc/r, port: 514}").listener
        #expect(
            file?.discovery
                == ListenerDiscovery(receivers: .file(path: "/etc/r", port: 514), port: .any))
        let dns = Reading(
            listener: "bind: 0.0.0.0:1\ndns: {name: _s._udp.Example.com., server: '192.0.2.1:53'}")
        let server = try Endpoint(parsing: "192.0.2.1:53")
        #expect(
            dns.listener?.discovery
                == ListenerDiscovery(
                    receivers: .dns(DNSQuery(name: "_s._udp.example.com", server: server)),
                    port: .any))
        #expect(dns.listener?.listener.discovery == dns.listener?.discovery)
    }

    @Test("the kubernetes block is checked", arguments: kubernetesCases)
    func kubernetes(block: String, problem: String) {
        let reading = Reading(listener: "bind: 0.0.0.0:514\nkubernetes: \(block)")
        #expect(reading.errors.count == 1)
        #expect(reading.errors.first?.contains(problem) == true, "\(reading.errors)")
    }

    @Test("a port of a service is a number or a name")
    func servicePort() {
        let byNumber = Reading(listener: "bind: 0.0.0.0:1\nkubernetes: {service: s, port: 514}")
        #expect(byNumber.listener?.kubernetes?.port == .number(514))
        let byName = Reading(
            listener: "bind: 0.0.0.0:1\nkubernetes: {service: s, port: syslog-udp}")
        #expect(byName.listener?.kubernetes == .init(service: "s", port: .name("syslog-udp")))
    }

    @Test(
        "seconds and bytes may have a unit",
        arguments: [
            ("slow_start_secs: 30s", 30), ("slow_start_secs: 2m", 120),
            ("slow_start_secs: 1h", 3600), ("slow_start_secs: \"45s\"", 45),
        ])
    func seconds(line: String, value: Int) {
        let reading = Reading("settings: {\(line)}\n" + Reading.good)
        #expect(reading.configuration?.settings.slowStartSeconds == value, "\(reading.errors)")
    }

    @Test(
        "bytes may have a unit of powers of 1024",
        arguments: [("16MiB", 16 << 20), ("64K", 64 << 10), ("1GiB", 1 << 30), ("4096", 4096)])
    func bytes(text: String, value: Int) {
        let reading = Reading("settings: {recv_buf_size: \(text)}\n" + Reading.good)
        #expect(reading.configuration?.settings.receiveBufferBytes == value, "\(reading.errors)")
    }

    @Test(
        "a unit that is not known, or a number beyond the range, is refused",
        arguments: [
            (
                "recv_buf_size: 16MB",
                "'16MB' is not a number in plain decimal digits; write bytes from 0"
            ),
            ("recv_buf_size: 2GiB", "2GiB is out of range; write bytes from 0 to 1073741824"),
            ("recv_buf_size: 99999999999999GiB", "99999999999999GiB is out of range"),
            ("slow_start_secs: 500ms", "'500ms' is not a number in plain decimal digits"),
            ("slow_start_secs: 1.5m", "'1.5m' is not a number in plain decimal digits"),
            ("slow_start_secs: 2h", "2h is out of range; write seconds from 0 to 3600"),
            ("workers: 2K", "'2K' is not a number in plain decimal digits"),
        ])
    func badUnits(line: String, problem: String) {
        let errors = Reading("settings: {\(line)}\n" + Reading.good).errors
        #expect(errors.count == 1 && errors[0].contains(problem), "\(errors)")
    }
}
