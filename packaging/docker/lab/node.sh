#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# node.sh balancer|backend|client [ARGUMENT...]   runs one node of the lab: a container of compose.yaml or a
# namespace of scenario.sh
#
#   client ── front ── balancer ── back ── backends 1, 2, 3
#   10.88.0.20     10.88.0.10  10.88.1.10     10.88.1.11 to .13
#
# Clients use the virtual address 192.0.2.100, which no interface has, by a route.
set -eu

folder=$(dirname "$0")
vip=192.0.2.100
port=7000
front=10.88.0.10
back=10.88.1.10

# The names of containers' interfaces are not fixed.
interface_of() { ip -o -4 address show to "$1" | awk '{ print $2 }' | cut -d@ -f1; }

balancer() {
    # Compose sets it; a namespace has its own.
    [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || echo 1 >/proc/sys/net/ipv4/ip_forward
    mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
    config=$(mktemp)
    cat >"$config" <<END
listeners:
  - name: lab
    mode: xdp_nat
    interface: $(interface_of $front)
    vip: $vip
    ports: [$port]
    balance: ${BALANCE:-roundrobin}
    downstream:
      - {name: backend-1, address: 10.88.1.11}
      - {name: backend-2, address: 10.88.1.12}
      - {name: backend-3, address: 10.88.1.13}
control:
  socket: ${CONTROL:-/run/udp-fanout/control.sock}
END
    exec "${UDP_FANOUT:-udp-fanout}" run --config "$config"
}

# Replies go back through the balancer.
backend() {
    ip route replace 10.88.0.0/24 via $back
    exec /usr/bin/python3 "$folder/backend.py" "$1" $port
}

client() {
    ip route replace $vip via $front
    interface=$(interface_of 10.88.0.20)
    # Further clients: addresses of this node.
    for last in $(seq 101 130); do
        ip address replace 10.88.0.$last/32 dev "$interface"
    done
    exec /usr/bin/python3 "$folder/load.py" $vip $port "$@"
}

role=$1
shift
case $role in
balancer | backend | client) "$role" "$@" ;;
*)
    echo "usage: node.sh balancer|backend NAME|client ARGUMENTS-OF-LOAD" >&2
    exit 2
    ;;
esac
