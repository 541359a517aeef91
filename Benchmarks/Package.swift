// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, so that who builds the daemon builds none of this. `make bench` runs it.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
let strictC: [CSetting] = [.treatAllWarnings(as: .error), .define("_GNU_SOURCE")]

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "udp-fanout", path: "..")],
    targets: [
        // The yardsticks, in C so that they are the kernel's cost and little else.
        .executableTarget(name: "loadgen", cSettings: strictC),
        .executableTarget(name: "reference", cSettings: strictC),
        .executableTarget(name: "firstpacket", cSettings: strictC),
        .executableTarget(
            name: "xskreference", cSettings: strictC,
            linkerSettings: [.linkedLibrary("xdp"), .linkedLibrary("bpf")]),
        .target(
            name: "CSteering", cSettings: strictC, linkerSettings: [.linkedLibrary("bpf")]),
        .target(
            name: "CForwarding",
            cSettings: strictC + [
                .unsafeFlags(["-I", Context.packageDirectory + "/../bpf/include"])
            ],
            linkerSettings: [.linkedLibrary("bpf")]),
        .target(
            name: "CNAT",
            cSettings: strictC + [
                .unsafeFlags(["-I", Context.packageDirectory + "/../bpf/include"])
            ],
            linkerSettings: [.linkedLibrary("bpf")]),
        .target(name: "CVethLab", cSettings: strictC, linkerSettings: [.linkedLibrary("bpf")]),
        // What the figures mean: pure, and tested.
        .target(name: "Measure", swiftSettings: strict),
        // What runs them.
        .executableTarget(
            name: "bench",
            dependencies: [
                "CForwarding", "CNAT", "CSteering", "CVethLab", "Measure", "loadgen", "reference",
                "firstpacket", "xskreference",
                .product(name: "KernelPrograms", package: "udp-fanout"),
                .product(name: "ReusePortLB", package: "udp-fanout"),
            ],
            swiftSettings: strict),
        .testTarget(name: "MeasureTests", dependencies: ["Measure"], swiftSettings: strict),
        .testTarget(
            name: "BenchTests", dependencies: ["bench"], exclude: ["stand-in.py"],
            swiftSettings: strict),
    ]
)
