// SPDX-License-Identifier: Apache-2.0

// Addresses are part of this library's own vocabulary, and whoever writes `import ReusePortLB` has to
// be able to make one. A typealias would name the types but hide their initialisers and members, which
// belong to the module that declares them; so exactly these two declarations are exported.
@_exported public import struct FanoutCore.Endpoint
@_exported public import struct FanoutCore.IPAddress
