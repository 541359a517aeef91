// SPDX-License-Identifier: Apache-2.0

extension Listener {
    /// The ports that it serves; several in mode `xdp_nat` alone.
    public var ports: [UInt16] { [bind.port] + nat.furtherPorts }

    /// Its address with every port, such as `192.0.2.1:1812,1813`.
    public var place: String {
        "\(bind)" + nat.furtherPorts.map { ",\($0)" }.joined()
    }

    /// Where a receiver is met by clients of `port`.
    public func endpoint(of downstream: Downstream, at port: UInt16) -> Endpoint {
        let own = downstream.endpoint
        return own.port == bind.port ? Endpoint(own.address, port: port) : own
    }
}
