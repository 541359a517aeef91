// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore

/// Parses arguments. An error says what is valid; the parser prefixes it with the argument's name.
enum Reading {
    static func receiver(_ text: String) throws -> IPAddress {
        guard let address = IPAddress(text) else {
            throw ValidationError("must be an address such as 192.0.2.1 or 2001:db8::1")
        }
        guard !address.isWildcard else {
            throw ValidationError(
                "must be the receiver's own address; a wildcard can only be bound")
        }
        return address
    }

    static func port(_ text: String) throws -> UInt16 {
        guard let port = UInt16(text), port != 0 else {
            throw ValidationError("must be a number from 1 to 65535")
        }
        return port
    }

    static func total(_ text: String) throws -> UInt64 {
        guard let total = Int64(text), total >= 0 else {
            throw ValidationError("must be the number of datagrams to send; 0 = for ever")
        }
        return UInt64(total)
    }

    static func rate(_ text: String) throws -> Double {
        guard let rate = Double(text), rate == 0 || (1e-6...1e9).contains(rate) else {
            throw ValidationError(
                "must be datagrams a second, up to 1000000000; 0 = as fast as possible")
        }
        return rate
    }

    static func duration(_ text: String) throws -> Double {
        guard let seconds = Double(text), (1e-3...1e9).contains(seconds) else {
            throw ValidationError("must be seconds, 0.001 or more; omit it for no limit")
        }
        return seconds
    }

    static func sources(_ text: String) throws -> SourceList {
        do throws(SourceList.Malformed) {
            return try SourceList(parsing: text)
        } catch {
            throw ValidationError(error.reason)
        }
    }
}
