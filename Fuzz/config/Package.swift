// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, so that the sanitizer reaches no other program. `make fuzz` runs it.

let package = Package(
    name: "config",
    dependencies: [
        .package(name: "udp-fanout", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "configfuzz",
            dependencies: [.product(name: "FanoutConfig", package: "udp-fanout")],
            swiftSettings: [
                .swiftLanguageMode(.v6), .treatAllWarnings(as: .error),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .unsafeFlags(["-parse-as-library"]),
            ])
    ]
)
