// SPDX-License-Identifier: Apache-2.0

import Testing

/// The built executable, judged from outside. One test at a time: several of them load the machine and
/// count every datagram.
@Suite("The daemon", .serialized)
enum DaemonTests {}
