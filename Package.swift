// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// One block per layer, from the bottom. A layer imports only layers below it, never a neighbour;
// ConventionTests and the build check it (see ARCHITECTURE.md).

let strictBenchmarks: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
let strict = strictBenchmarks + [.strictMemorySafety()]
// Tests poke at raw memory and C on purpose; marking each spot would hide what they check.
let strictTests: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]
let strictC: [CSetting] = [.treatAllWarnings(as: .error)]
let strictBenchmarkC = strictC + [.define("_GNU_SOURCE")]

let kernelModes: TargetDependencyCondition = .when(traits: ["KernelModes"])!
let programs: TargetDependencyCondition = .when(traits: ["Programs"])!

let cLayer: [Target] = [
    .target(
        name: "CNet", cSettings: strictC,
        // ns_initparse(3) and ns_parserr(3), which glibc keeps beside libc.
        linkerSettings: [.linkedLibrary("resolv")]),
    .systemLibrary(name: "CDatapath", path: "bpf/include"),
    .systemLibrary(
        name: "CLibBPF", pkgConfig: "libbpf",
        providers: [.apt(["libbpf-dev", "libelf-dev"])]),
    .systemLibrary(
        name: "CLibXDP", pkgConfig: "libxdp", providers: [.apt(["libxdp-dev"])]),
    .systemLibrary(
        name: "CLibMNL", pkgConfig: "libmnl", providers: [.apt(["libmnl-dev"])]),
    // YAML links its static library, so that a program needs no package at run time.
    .systemLibrary(name: "CLibYAML", providers: [.apt(["libyaml-dev"])]),
    // The same sources that ./configure && make builds into libreuseportlb.so.
    .target(
        name: "CReusePortLB", dependencies: ["CDatapath", "CLibBPF"], exclude: ["preload"],
        cSettings: strictC + [.headerSearchPath("../../bpf/include")]),
]

let pure: [Target] = [
    .target(name: "FanoutCore", dependencies: ["CDatapath"], swiftSettings: strict),
    // What bpf/ compiles to, as bytes: whoever loads them links libbpf, this does not.
    .target(name: "KernelPrograms", swiftSettings: strict, plugins: ["BPFObjects"]),
]

let systemLayer: [Target] = [
    .target(
        name: "LinuxNet",
        dependencies: [
            "CDatapath", "CNet", "FanoutCore",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strict),
    .target(
        name: "YAML", dependencies: ["CLibYAML"], swiftSettings: strict,
        linkerSettings: [.linkedLibrary(":libyaml.a")]),
    .target(
        name: "BPFRuntime",
        dependencies: ["CLibBPF", "CDatapath", "CNet", "FanoutCore", "KernelPrograms"],
        swiftSettings: strict),
    // Links libxdp, so only planes of the trait KernelModes may depend on it.
    .target(name: "XDPSockets", dependencies: ["CLibXDP", "CNet"], swiftSettings: strict),
    .target(
        name: "ReusePortLB",
        dependencies: ["CDatapath", "CNet", "CReusePortLB", "FanoutCore", "KernelPrograms"],
        swiftSettings: strict),
]

// For users of the library who have a metrics backend.
let libraryExtras: [Target] = [
    .target(
        name: "ReusePortLBMetrics",
        dependencies: [
            "ReusePortLB",
            .product(
                name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])
            ),
        ],
        swiftSettings: strict)
]

// What several planes stand on.
let sharedLayer: [Target] = [
    // The hooks of the kernel modes, their life cycle, and the host's network as they see it.
    .target(
        name: "KernelForwarding",
        dependencies: [
            "BPFRuntime", "CDatapath", "CLibMNL", "CNet", "FanoutCore", "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strict)
]

let planesAndInputs: [Target] = [
    .target(
        name: "UserspacePlane",
        dependencies: [
            "CDatapath", "CNet", "FanoutCore", "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strict),
    .target(
        name: "TCPlane",
        dependencies: [
            "BPFRuntime", "CDatapath", "FanoutCore", "KernelForwarding", "KernelPrograms",
            "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strict),
    .target(
        name: "AFXDPPlane",
        dependencies: [
            "BPFRuntime", "CDatapath", "CNet", "FanoutCore", "KernelForwarding", "KernelPrograms",
            "LinuxNet", "XDPSockets",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strict),
    .target(
        name: "XDPNATPlane",
        dependencies: [
            "BPFRuntime", "CDatapath", "FanoutCore", "KernelForwarding", "KernelPrograms",
            "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strict),
    .target(
        name: "FanoutConfig",
        dependencies: ["FanoutCore", "LinuxNet", "YAML"],
        swiftSettings: strict),
    .target(
        name: "FanoutDiscovery",
        dependencies: [
            "CNet", "FanoutCore", "LinuxNet", "YAML",
            .product(name: "AsyncHTTPClient", package: "async-http-client", condition: programs),
            .product(name: "Logging", package: "swift-log", condition: programs),
            .product(name: "NIOCore", package: "swift-nio", condition: programs),
            .product(name: "NIOHTTP1", package: "swift-nio", condition: programs),
            .product(name: "NIOSSL", package: "swift-nio-ssl", condition: programs),
        ],
        swiftSettings: strict),
    .target(
        name: "FanoutMetrics",
        dependencies: [
            "FanoutCore", "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
            .product(name: "NIOCore", package: "swift-nio", condition: programs),
            .product(name: "NIOPosix", package: "swift-nio", condition: programs),
            .product(name: "NIOHTTP1", package: "swift-nio", condition: programs),
        ],
        resources: [
            .embedInCode("Page/page.html"), .embedInCode("Page/page.css"),
            .embedInCode("Page/page.js"),
        ],
        swiftSettings: strict),
]

let controlLayer: [Target] = [
    .target(
        name: "FanoutControl",
        dependencies: [
            "FanoutCore", "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strict)
]

let applications: [Target] = [
    .executableTarget(
        name: "udp-fanout",
        dependencies: [
            "FanoutCore", "LinuxNet", "UserspacePlane", "FanoutConfig", "FanoutDiscovery",
            "FanoutMetrics", "FanoutControl",
            .target(name: "AFXDPPlane", condition: kernelModes),
            .target(name: "BPFRuntime", condition: kernelModes),
            .target(name: "KernelForwarding", condition: kernelModes),
            .target(name: "ReusePortLB", condition: kernelModes),
            .target(name: "TCPlane", condition: kernelModes),
            .target(name: "XDPNATPlane", condition: kernelModes),
            .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
            .product(name: "Logging", package: "swift-log", condition: programs),
            .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: programs),
        ],
        swiftSettings: strict, plugins: ["BuildStamp"]),
    .executableTarget(
        name: "collector",
        dependencies: [
            "FanoutCore", "FanoutMetrics", "LinuxNet", "ReusePortLB",
            .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
            .product(name: "Logging", package: "swift-log", condition: programs),
            .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: programs),
        ],
        swiftSettings: strict),
    .executableTarget(
        name: "publisher",
        dependencies: [
            "CNet", "FanoutCore", "LinuxNet",
            .product(name: "ArgumentParser", package: "swift-argument-parser", condition: programs),
        ],
        swiftSettings: strict, plugins: ["BuildStamp"]),
]

// The targets of `make bench`. No product of the package needs them.
let benchmarks: [Target] = [
    // The yardsticks, in C so that they are the kernel's cost and little else.
    yardstick("loadgen"),
    yardstick("reference"),
    yardstick("firstpacket"),
    yardstick("xskreference", libraries: ["xdp", "bpf"]),
    .target(
        name: "CSteering", dependencies: ["CReusePortLB"], path: "Benchmarks/CSteering",
        cSettings: strictBenchmarkC,
        linkerSettings: [.linkedLibrary("bpf")]),
    .target(
        name: "CForwarding", path: "Benchmarks/CForwarding",
        cSettings: strictBenchmarkC + [.headerSearchPath("../../bpf/include")],
        linkerSettings: [.linkedLibrary("bpf")]),
    .target(
        name: "CNAT", path: "Benchmarks/CNAT",
        cSettings: strictBenchmarkC + [.headerSearchPath("../../bpf/include")],
        linkerSettings: [.linkedLibrary("bpf")]),
    .target(
        name: "CVethLab", path: "Benchmarks/CVethLab", cSettings: strictBenchmarkC,
        linkerSettings: [.linkedLibrary("bpf")]),
    // What the figures mean: pure, and tested.
    .target(name: "Measure", path: "Benchmarks/Measure", swiftSettings: strictBenchmarks),
    .executableTarget(
        name: "bench",
        dependencies: [
            "CForwarding", "CNAT", "CSteering", "CVethLab", "KernelPrograms", "Measure",
            "ReusePortLB", "loadgen", "reference", "firstpacket", "xskreference",
        ],
        path: "Benchmarks/bench", swiftSettings: strictBenchmarks),
]

func yardstick(_ name: String, libraries: [String] = []) -> Target {
    .executableTarget(
        name: name, path: "Benchmarks/\(name)", cSettings: strictBenchmarkC,
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

let tests: [Target] = [
    // The tags that scripts/run-tests.py reads.
    .target(name: "Tiers", path: "Tests/Tiers", swiftSettings: strictTests),
    .testTarget(
        name: "FanoutCoreTests", dependencies: ["CDatapath", "FanoutCore", "GoldenVectors"],
        swiftSettings: strictTests),
    .testTarget(
        name: "DatapathTests",
        dependencies: [
            "BPFRuntime", "CDatapath", "CLibBPF", "FanoutCore", "GoldenVectors",
            "KernelForwarding", "KernelPrograms", "LabNet", "XDPSockets",
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "FanoutConfigTests",
        dependencies: ["FanoutConfig", "FanoutCore", "GoldenVectors", "SchemaCheck", "YAML"],
        swiftSettings: strictTests),
    .testTarget(
        name: "FanoutControlSocketTests",
        dependencies: [
            "FanoutControl", "FanoutCore", "LabNet", "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "FanoutMetricsTests",
        dependencies: [
            "FanoutMetrics", "FanoutCore",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strictTests),
    // What several suites share: sockets and processes to test with, and the promises of every plane.
    .target(
        name: "GoldenVectors", dependencies: ["CDatapath", "FanoutCore"],
        path: "Tests/GoldenVectors", exclude: ["golden.py"], swiftSettings: strictTests),
    .target(
        name: "SchemaCheck", dependencies: ["YAML"],
        path: "Tests/SchemaCheck", swiftSettings: strictTests),
    .target(
        name: "LabNet",
        dependencies: [
            "CNet", "FanoutCore", "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        path: "Tests/LabNet", swiftSettings: strictTests),
    .target(
        name: "PlaneContract", dependencies: ["FanoutCore", "GoldenVectors", "LabNet"],
        path: "Tests/PlaneContract", swiftSettings: strictTests),
    .testTarget(
        name: "UserspacePlaneTests",
        dependencies: [
            "CNet", "FanoutCore", "LabNet", "LinuxNet", "PlaneContract", "UserspacePlane",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "TCPlaneTests",
        dependencies: [
            "BPFRuntime", "CDatapath", "CLibBPF", "FanoutCore", "KernelForwarding",
            "KernelPrograms",
            "LabNet", "LinuxNet", "PlaneContract", "TCPlane",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "AFXDPPlaneTests",
        dependencies: [
            "AFXDPPlane", "BPFRuntime", "CDatapath", "CLibBPF", "FanoutCore", "KernelForwarding",
            "KernelPrograms", "LabNet", "LinuxNet", "PlaneContract", "TCPlane",
            "UserspacePlane", "XDPSockets",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "XDPNATPlaneTests",
        dependencies: [
            "BPFRuntime", "CDatapath", "FanoutCore", "KernelForwarding", "KernelPrograms", "LabNet",
            "LinuxNet", "PlaneContract", "XDPNATPlane",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "FanoutHealthTests",
        dependencies: ["FanoutControl", "FanoutCore", "LabNet", "LinuxNet"],
        swiftSettings: strictTests),
    .target(
        name: "ClusterLab",
        dependencies: [
            "FanoutCore", "LabNet",
            .product(name: "NIOCore", package: "swift-nio", condition: programs),
            .product(name: "NIOHTTP1", package: "swift-nio", condition: programs),
            .product(name: "NIOPosix", package: "swift-nio", condition: programs),
            .product(name: "NIOSSL", package: "swift-nio-ssl", condition: programs),
        ],
        path: "Tests/ClusterLab", swiftSettings: strictTests),
    .testTarget(
        name: "FanoutDiscoveryTests",
        dependencies: [
            "ClusterLab", "FanoutControl", "FanoutCore", "FanoutDiscovery", "LabNet", "LinuxNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
            .product(name: "NIOCore", package: "swift-nio", condition: programs),
            .product(name: "NIOPosix", package: "swift-nio", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "FanoutControlTests",
        dependencies: [
            "FanoutControl", "FanoutCore", "LabNet",
            .product(name: "Logging", package: "swift-log", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "DaemonTests",
        dependencies: [
            "ClusterLab", "FanoutConfig", "FanoutControl", "FanoutCore", "LabNet", "LinuxNet",
            .target(name: "collector"), .target(name: "publisher"), .target(name: "udp-fanout"),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "ReusePortTests",
        dependencies: [
            "CDatapath", "CLibBPF", "CNet", "FanoutCore", "GoldenVectors", "LabNet", "LinuxNet",
            "ReusePortLB", "ReusePortLBMetrics",
            .product(
                name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])
            ),
            .product(
                name: "MetricsTestKit", package: "swift-metrics",
                condition: .when(traits: ["Metrics"])),
            .product(name: "Logging", package: "swift-log", condition: programs),
            .product(name: "NIOCore", package: "swift-nio", condition: programs),
            .product(name: "NIOPosix", package: "swift-nio", condition: programs),
            .product(
                name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: programs),
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "XDPSocketsTests",
        dependencies: [
            "CLibBPF", "CLibXDP", "CNet", "FanoutCore", "LabNet", "LinuxNet", "XDPSockets",
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "NetlinkTests",
        dependencies: [
            "BPFRuntime", "CLibBPF", "CLibMNL", "FanoutCore", "KernelPrograms", "LabNet",
            "LinuxNet", "KernelForwarding",
        ],
        swiftSettings: strictTests),
    .testTarget(
        name: "CollectorTests",
        dependencies: [
            "FanoutCore", "LabNet", "LinuxNet", "ReusePortLB", .target(name: "collector"),
        ],
        exclude: ["stranger.c"],
        swiftSettings: strictTests),
    .testTarget(
        name: "PublisherTests",
        dependencies: ["FanoutCore", "LabNet", .target(name: "publisher")],
        swiftSettings: strictTests),
    .testTarget(
        name: "DeploymentTests",
        dependencies: [
            "FanoutConfig", "FanoutCore", "FanoutMetrics", "LabNet", "LinuxNet", "SchemaCheck",
            .target(name: "udp-fanout"),
        ],
        exclude: ["Facts"], swiftSettings: strictTests),
    .testTarget(name: "LabNetTests", dependencies: ["LabNet"], swiftSettings: strictTests),
    .testTarget(name: "MeasureTests", dependencies: ["Measure"], swiftSettings: strictTests),
    .testTarget(
        name: "BenchTests", dependencies: ["LabNet", "bench"], exclude: ["fake-daemon.py"],
        swiftSettings: strictTests),
    .testTarget(name: "ConventionTests", swiftSettings: strictTests),
]

// Each suite has a tag of Tiers.
for target in tests where target.type == .test { target.dependencies.append("Tiers") }

let package = Package(
    name: "udp-fanout",
    products: [
        .executable(name: "udp-fanout", targets: ["udp-fanout"]),
        .executable(name: "collector", targets: ["collector"]),
        .library(name: "ReusePortLB", targets: ["ReusePortLB"]),
        .library(name: "ReusePortLBMetrics", targets: ["ReusePortLBMetrics"]),
        .executable(name: "publisher", targets: ["publisher"]),
        // For Fuzz, which tries the reader of configurations by itself.
        .library(name: "FanoutConfig", targets: ["FanoutConfig"]),
    ],
    traits: [
        .trait(
            name: "KernelModes",
            description: "Link libbpf and libmnl, for the modes that run in the kernel."),
        .trait(
            name: "Programs",
            description: "Resolve what the programs and the tests need, but not ReusePortLB."),
        .trait(name: "Metrics", description: "Resolve swift-metrics, for ReusePortLBMetrics."),
        .default(enabledTraits: ["KernelModes", "Programs", "Metrics"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.10.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.25.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: cLayer + pure + systemLayer + libraryExtras + sharedLayer + planesAndInputs
        + controlLayer
        + applications + benchmarks + tests + [
            .plugin(name: "BPFObjects", capability: .buildTool()),
            .plugin(name: "BuildStamp", capability: .buildTool()),
        ]
)
