// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore

/// The readings of arguments: text into values. What is not one says what to write instead; the parser
/// puts the argument's name before it.
enum Reading {
    static func receiver(_ text: String) throws -> IPAddress {
        guard let address = IPAddress(text) else {
            throw ValidationError("write an address such as 192.0.2.1 or 2001:db8::1")
        }
        guard !address.isWildcard else {
            throw ValidationError("write the receiver's own address; this one only serves to bind")
        }
        return address
    }

    static func port(_ text: String) throws -> UInt16 {
        guard let port = UInt16(text), port != 0 else {
            throw ValidationError("write a number from 1 to 65535")
        }
        return port
    }

    static func total(_ text: String) throws -> UInt64 {
        guard let total = Int64(text), total >= 0 else {
            throw ValidationError("write how many datagrams to send; 0 = for ever")
        }
        return UInt64(total)
    }

    static func rate(_ text: String) throws -> Double {
        guard let rate = Double(text), rate == 0 || (1e-6...1e9).contains(rate) else {
            throw ValidationError(
                "write datagrams a second, up to 1000000000; 0 = as fast as possible")
        }
        return rate
    }

    static func duration(_ text: String) throws -> Double {
        guard let seconds = Double(text), (1e-3...1e9).contains(seconds) else {
            throw ValidationError("write seconds, 0.001 or more; leave it away to have no limit")
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
