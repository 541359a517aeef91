// SPDX-License-Identifier: Apache-2.0

import Testing

/// Which test or script runs a command that the documentation shows.
enum DocumentedCommands {
    struct Entry: CustomTestStringConvertible {
        let command: String
        /// A file of this tree.
        let runner: String
        /// Text in that file that runs the command.
        let words: String

        var testDescription: String { command }

        init(_ command: String, _ runner: String, _ words: String) {
            self.command = command
            self.runner = runner
            self.words = words
        }
    }

    /// Pages whose commands run verbatim, in their own network.
    static let pagesRun: Set = [
        "docs/userspace.md", "docs/syslog.md", "docs/troubleshooting.md", "docs/upgrade.md",
        "docs/several-nodes.md", "docs/tuning.md",
    ]

    /// Pages whose commands the tests of packages and manifests run.
    static let pagesOfOtherSuites: Set = ["docs/getting-started.md", "docs/kubernetes.md"]

    private static let ci = ".ci/run"
    private static let make = "GNUmakefile"
    private static let library = "scripts/check-library.sh"
    private static let nat = "Tests/DaemonTests/NATCommandTests.swift"
    private static let lab = "Tests/DaemonTests/LabScriptTests.swift"
    private static let walk = "Tests/CollectorTests/WalkthroughTests.swift"
    private static let page = "Tests/CollectorTests/WalkthroughPageTests.swift"
    private static let unmodified = "Tests/CollectorTests/UnmodifiedCollectorTests.swift"
    private static let installed = "Tests/CReusePortLBTests/installed.sh"
    private static let daemon = ".build/release/udp-fanout"
    private static let sbulb =
        "udp-fanout nat eth0 -vs 10.188.7.99 -rs 10.188.100.163 10.188.100.230 -p 5683 5684"

    static let all: [Entry] =
        [
            Entry("make build", ci, "make build"),
            Entry("make run", "Tests/DaemonTests/DemoTests.swift", "\"demo\""),
            Entry("\(daemon) check --config config.yaml", "docs/userspace.md", "check --config"),
            Entry("\(daemon) --config config.yaml", "docs/userspace.md", "udp-fanout --config"),
            Entry(
                "swift build -c release --static-swift-stdlib --traits Programs"
                    + " --product udp-fanout", make, "--traits Programs --product udp-fanout"
            ),
        ] + collectors + cLibrary + kernels + labs + nats

    private static let kernels = [
        "make test-kernels", "make test-kernels ARGS=6.1",
        "FILTER='^NetlinkTests[.]' make test-kernels",
    ].map { Entry($0, "Tests/ConventionTests/MakeTargetTests.swift", "\"test-kernels\"") }

    private static let labs = ["", " ARGS=status", " ARGS=down"].map {
        Entry("sudo make lab\($0)", lab, "\"lab\"")
    }

    private static let nats = [
        Entry(sbulb, nat, "\"nat\", \"eth0\", \"-vs\""),
        Entry("udp-fanout nat eth0 -vs 10.188.7.99 -cfg servers.ini -p 5683", nat, "\"-cfg\""),
        Entry("udp-fanout nat show --client 198.51.100.7 --json", nat, "\"nat\", \"show\""),
        Entry("udp-fanout nat drop --server 10.188.100.163", nat, "\"nat\", \"drop\""),
    ]

    private static let cLibrary: [Entry] =
        [
            ("./bootstrap", "/bootstrap"), ("./configure", "./configure --prefix"),
            ("make", "make \"$jobs\""), ("make check", "make check"),
            ("make install", "make install"),
            ("./bootstrap && ./configure && make && make check && make install", "make install"),
            ("export PKG_CONFIG_PATH=DIR/lib/pkgconfig", "PKG_CONFIG_PATH="),
        ].map { Entry($0.0, library, $0.1) }
        + [
            ("collector collector.c $(pkg-config --cflags --libs reuseportlb)", "collector20.c"),
            ("my-collector my-collector.c $(pkg-config --cflags --libs reuseportlb)", "$flags"),
            (
                "collector collector.c $(pkg-config --cflags --libs reuseportlb)"
                    + " -Wl,-rpath,DIR/lib", "pkg-config"
            ),
        ].map { Entry("cc -o \($0.0)", installed, $0.1) }
        + (0..<3).map { Entry("./collector20 4739 \($0) 3", installed, "receives") }
        + [
            Entry(
                "apt-get install autoconf automake libtool make gcc pkg-config clang llvm"
                    + " libbpf-dev linux-libc-dev", "scripts/setup.sh", "apt-get install"),
            Entry("pip install bindings/python", library, "pip install"),
            Entry("bpftool map dump name udp_balancing_t", walk, "map dump name udp_balancing_t"),
        ]

    private static let metrics = "Tests/CollectorTests/MetricsCommandTests.swift"

    private static let collectors: [Entry] =
        (0..<3).map {
            Entry(
                ".build/release/collector 127.0.0.1 2055 \($0) 3", walk,
                "10.0.2.15 10001 \\(index) 3")
        } + [
            Entry(
                "collector exec --group netflow --count 3 --slot 1 --listen 192.0.2.1:2055 -- nfacctd -f nfacctd.conf",
                unmodified, "\"exec\", \"--group\""),
            Entry(
                "collector exec --group netflow --slot 1 --listen 0.0.0.0:2055 --replace --stop PID -- nfcapd -p 2055 -w /var/cache/nfdump/1b",
                unmodified, "\"--replace\", \"--stop\""),
            Entry(
                "collector adopt --group netflow --count 3 --slot 1 --pid PID --port 2055",
                "Tests/CollectorTests/AdoptTests.swift", "\"adopt\", \"--group\""),
            Entry(
                "collector create ipfix --count 4 --key payload --payload-key ipfix_domain",
                "Tests/CollectorTests/AdoptTests.swift", "create ipfix --count 4"),
            Entry(
                "collector create quic --count 4 --key payload"
                    + " --payload-key quic_server_id,offset=1,length=4",
                "Tests/CollectorTests/AdoptTests.swift", "create quic --count 4"),
            Entry(
                "collector explain quic 192.0.2.7 --payload 40a0a1a2a3a4a5a6",
                "Tests/CollectorTests/AdoptTests.swift", "explain quic 192.0.2.7"),
            Entry(
                "collector metrics --listen 127.0.0.1:9101", metrics, "\"metrics\", \"--listen\""),
            Entry(
                "collector metrics --textfile"
                    + " /var/lib/prometheus/node-exporter/collector.prom --interval 15",
                metrics, "\"metrics\", \"--textfile\""),
            Entry(
                "collector 192.0.2.1 2055 0 3 --replace",
                "Tests/CollectorTests/FailoverTests.swift",
                "[\"--replace\"]"),
            Entry(
                ".build/release/publisher 127.0.0.1 2055 0 --sources 127.0.1.0/24 --rate 50",
                "Tests/PublisherTests/TroubleTests.swift", "--rate 3000"),
        ]
        + ([
            "ip address add 192.0.2.1/32 dev lo", "ip route add local 198.51.100.0/24 dev lo",
            "publisher 192.0.2.1 2055 0 --rate 50 --sources 198.51.100.0/24", "collector status",
            "collector destroy collector-192-0-2-1-2055",
            "ip route del local 198.51.100.0/24 dev lo", "ip address del 192.0.2.1/32 dev lo",
        ] + (0..<3).map { "collector 192.0.2.1 2055 \($0) 3" })
        .map { Entry($0, page, "\"## On one host\"") }
        + [
            "useradd -r collector", "mount -t bpf bpf /sys/fs/bpf", "chmod 711 /sys/fs/bpf",
            "collector create netflow --count 3 --owner collector",
            "runuser -u collector -- collector 192.0.2.1 2055 0 3 --group netflow",
        ].map { Entry($0, page, "\"## Without privilege\"") }
        + (0..<3).map {
            Entry(
                "collector exec --group netflow --count 3 --slot \($0) --listen 0.0.0.0:2055 -- nfcapd -p 2055 -w /var/cache/nfdump/\($0)",
                unmodified, "[\"nfcapd\", \"-p\"")
        }
        + [
            "systemctl enable --now collector@0 collector@1 collector@2",
            "systemctl reload collector@1", "systemctl restart collector@1",
        ].map { Entry($0, "Tests/CollectorTests/ExecTests.swift", "ExecReload") }
}
