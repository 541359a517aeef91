// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

/// The built executable, tested from outside. The tests run one at a time: several of them load the machine
/// and count every datagram.
@Suite("The daemon", .tags(.network), .serialized)
enum DaemonTests {}
