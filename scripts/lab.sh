#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lab.sh [up|down|status]   a network of namespaces to try tc_ebpf and af_xdp in; needs root
#
#   ns-src         ns-lb                                ns-dst1, ns-dst2, ns-dst3
#   veth-src ───── veth-proxy-src   veth-proxy-dst1 ─── veth-dst1
#   10.77.0.2      10.77.0.1        10.77.1.1           10.77.1.2
#   fd77::2        fd77::1          fd77:1::1           fd77:1::2     (2 and 3 likewise)
#
# `up` builds it and prints what to try; it may be called twice. `down` ends the processes in the namespaces and
# removes these, with the pins of a killed daemon. The environment may name other folders: BIN for the executables,
# LAB_FOLDER for the configuration.
set -eu

bin=${BIN:-$(cd "$(dirname "$0")/.." && pwd)/.build/release}
folder=${LAB_FOLDER:-/run/udp-fanout-lab}
receivers='1 2 3'
namespaces='ns-src ns-lb ns-dst1 ns-dst2 ns-dst3'
port=5514
metrics=127.0.0.1:9090

fail() {
    printf 'lab: %s\n' "$*" >&2
    exit 1
}

exists() { [ -e "/run/netns/$1" ]; }

# Not `ip netns exec`: that mounts its own /sys, and pins below it would vanish with the daemon.
enter() { echo "nsenter --net=/run/netns/$1"; }

within() {
    name=$1
    shift
    $(enter "$name") "$@"
}

# connect NAMESPACE INTERFACE PROXY SUBNET: ns-lb has address 1, the other end 2.
connect() {
    ip link add "$2" netns "$1" type veth peer name "$3" netns ns-lb
    for end in "ns-lb $3 1" "$1 $2 2"; do
        # shellcheck disable=SC2086  # three words
        set -- $end "$4"
        ip -n "$1" address add "10.77.$4.$3/24" dev "$2"
        ip -n "$1" link set "$2" up
        ip -n "$1" address add "fd77:$4::$3/64" dev "$2" nodad
    done
}

build() {
    for name in $namespaces; do
        ip netns add "$name"
        ip -n "$name" link set lo up
    done
    within ns-lb sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
        net.ipv6.conf.all.keep_addr_on_down=1
    connect ns-src veth-src veth-proxy-src 0
    for number in $receivers; do
        connect "ns-dst$number" "veth-dst$number" "veth-proxy-dst$number" "$number"
    done
    # Receivers see the client's address, so their replies are routed through the balancer.
    for name in $namespaces; do
        case $name in
        ns-lb) continue ;;
        ns-src) subnet=0 ;;
        *) subnet=${name#ns-dst} ;;
        esac
        ip -n "$name" route add default via "10.77.$subnet.1"
        ip -n "$name" -6 route add default via "fd77:$subnet::1"
    done
}

# write_config MODE: listeners of both families. tc(8) shows only clsact, so the lab sets the hook instead of
# leaving it to the kernel's version.
write_config() {
    {
        echo "listeners:"
        for family in v4 v6; do
            [ $family = v4 ] && bind=10.77.0.1 || bind='[fd77::1]'
            printf '  - name: lab-%s\n    bind: "%s:%s"\n' $family "$bind" $port
            printf '    mode: %s\n    interface: veth-proxy-src\n    downstream:\n' "$1"
            for number in $receivers; do
                [ $family = v4 ] && address=10.77.$number.2 || address="[fd77:$number::2]"
                printf '      - name: dst%s\n        address: "%s:%s"\n' "$number" "$address" $port
            done
        done
        [ "$1" != tc_ebpf ] || printf 'settings:\n  tc_attach: clsact\n'
        printf 'metrics:\n  enabled: true\n  bind: "%s"\n' $metrics
    }
}

# One command a line, indented by two blanks.
advise() {
    cat <<END
lab: ns-src sends to ns-lb, which spreads over ns-dst1, ns-dst2, ns-dst3; $folder/config.yaml is its file

the balancer, until Ctrl+C:
  $(enter ns-lb) $bin/udp-fanout --config $folder/config.yaml
the balancer in mode af_xdp, in place of that one:
  $(enter ns-lb) $bin/udp-fanout --config $folder/af-xdp.yaml
its program at the hook (ip link show for mode af_xdp):
  $(enter ns-lb) tc filter show dev veth-proxy-src ingress
what a receiver sees, a terminal for each line (2 and 3 likewise, dst2 with 10.77.2.2 and fd77:2::2):
  $(enter ns-dst1) $bin/collector 10.77.1.2 $port 0 1
  $(enter ns-dst1) $bin/collector fd77:1::2 $port 0 1
ten datagrams:
  $(enter ns-src) $bin/publisher 10.77.0.1 $port 10 --rate 10
  $(enter ns-src) $bin/publisher fd77::1 $port 10 --rate 10
the counts:
  $(enter ns-lb) curl -s http://$metrics/metrics
a receiver goes and comes (write weight: 0 or another receiver into the file and see the log, too):
  ip -n ns-lb link set veth-proxy-dst1 down
  ip -n ns-lb link set veth-proxy-dst1 up
the end:
  make lab ARGS=down
END
    [ -x "$bin/udp-fanout" ] || printf '\nThere is no %s yet: make build\n' "$bin/udp-fanout"
}

up() {
    for name in $namespaces; do
        [ -d "$folder" ] || ! exists "$name" ||
            fail "$name is there and not this lab's; remove it first: ip netns delete $name"
    done
    # Start again after an interrupted `up`.
    if ! [ -e "$folder/is-up" ]; then
        remove
        mkdir -m 755 "$folder"
        build
        : >"$folder/is-up"
    fi
    write_config tc_ebpf >"$folder/config.yaml"
    write_config af_xdp >"$folder/af-xdp.yaml"
    advise
}

running() {
    for name in $namespaces; do
        ! exists "$name" || ip netns pids "$name"
    done
}

# In order first, so that a daemon detaches its program and a collector prints its counts.
end_processes() {
    for signal in TERM KILL; do
        for pid in $(running); do kill -s $signal "$pid" 2>/dev/null || true; done
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            [ -n "$(running)" ] || return 0
            sleep 0.2
        done
    done
    fail "these do not end: $(running | tr '\n' ' ')"
}

# Groups of collectors stay until they are destroyed; a killed daemon's program stays at its hook. The name of
# the daemon's folder has the number of its namespace.
unpin() {
    number=none
    ! exists ns-lb || number=$(stat -Lc %i /run/netns/ns-lb)
    for pins in /sys/fs/bpf/udp-fanout/interface-*-net-"$number" \
        /sys/fs/bpf/collector-10-77-[123]-2-$port /sys/fs/bpf/collector-fd77*-[123]--2-$port; do
        [ ! -d "$pins" ] || find "$pins" -depth -delete
    done
    rmdir /sys/fs/bpf/udp-fanout 2>/dev/null || true
}

remove() {
    end_processes
    unpin
    for name in $namespaces; do
        ! exists "$name" || ip netns delete "$name"
    done
    rm -rf "$folder"
}

status() {
    [ -e "$folder/is-up" ] || fail "it is not up; make lab builds it"
    for name in $namespaces; do
        printf '%s\n' "$name"
        ip -n "$name" -brief address show | grep -v '^lo ' | sed 's/^/  /'
        for pid in $(ip netns pids "$name"); do
            printf '  process %s: %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
        done
    done
    within ns-lb tc filter show dev veth-proxy-src ingress
}

[ "$(id -u)" -eq 0 ] || fail "namespaces need root: sudo $0 $*"
case ${1:-up} in
up) up ;;
down) [ ! -d "$folder" ] || remove ;;
status) status ;;
*) fail "usage: lab.sh [up|down|status]" ;;
esac
