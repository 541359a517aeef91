#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scenario.sh compose|namespaces [STRATEGY...]   sends requests to three backends through the balancer, and asserts
#                                                how each strategy spreads the clients
#
# The scenario runs in the containers of compose.yaml, or in network namespaces of this host, as root and without a
# container engine (UDP_FANOUT then names the executable). Every datagram must get a reply from the address to which
# it was sent, and each client must stay with its backend. Further assertions:
#   roundrobin   each backend gets every third client
#   random       each backend gets a third, within 5.5 standard deviations
#   iphash       one backend gets all clients of an address, and every backend has clients
#   four_tuple   the clients of one address reach all backends
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
node=$here/lab/node.sh
backends='1 2 3'

way=${1:-}
case $way in
compose | namespaces) shift ;;
*)
    echo "usage: scenario.sh compose|namespaces [STRATEGY...]" >&2
    exit 2
    ;;
esac
strategies=${*:-roundrobin random iphash four_tuple}

# Own namespaces, mounts and processes: the kernel removes all of them at the end, also after a failure.
if [ "$way" = namespaces ] && [ -z "${SCENARIO_INSIDE:-}" ]; then
    SCENARIO_INSIDE=yes exec unshare --net --mount --pid --fork --kill-child --mount-proc \
        "$0" namespaces "$@"
fi

fail() {
    echo "scenario: $*" >&2
    exit 1
}

# ---- containers

compose() { docker compose --project-directory "$here" --file "$here/compose.yaml" "$@"; }

up_compose() {
    # shellcheck disable=SC2064
    trap 'compose down --volumes >/dev/null 2>&1' EXIT
    compose build
    compose up --detach --wait backend-1 backend-2 backend-3
}
# --wait waits for the health check of the image.
start_compose() { BALANCE=$1 compose up --detach --wait --force-recreate balancer; }
ask_compose() { compose run --rm -T client client "$@"; }

# ---- namespaces

on() {
    local name=$1
    shift
    nsenter --net="/run/netns/$name" "$@"
}

# join NODE SWITCH ADDRESS: connects the node's eth-SWITCH to the switch's bridge.
join() {
    ip link add "eth-$2" netns "$1" type veth peer name "$2-$1" netns "$2"
    ip -n "$1" address add "$3/24" dev "eth-$2"
    ip -n "$1" link set "eth-$2" up
    ip -n "$2" link set "$2-$1" master bridge up
}

up_namespaces() {
    mount -t tmpfs none /run
    mount -t bpf bpf /sys/fs/bpf
    local name number
    for name in front back balancer client backend-1 backend-2 backend-3; do
        ip netns add $name
        ip -n $name link set lo up
    done
    for name in front back; do
        ip -n $name link add bridge type bridge
        ip -n $name link set bridge up
    done
    join client front 10.88.0.20
    join balancer front 10.88.0.10
    join balancer back 10.88.1.10
    for number in $backends; do
        join "backend-$number" back "10.88.1.1$number"
        on "backend-$number" "$node" backend "backend-$number" >"/run/backend-$number" 2>&1 &
    done
    for number in $backends; do awaits answers "/run/backend-$number"; done
    for name in front back; do awaits_ports $name; done
}

# The kernel takes up to a second to notice that the peer of a port is up, which would delay the first request.
awaits_ports() {
    # shellcheck disable=SC2016  # the inner shell's
    timeout 10 sh -c 'while ip -n "$1" -o link show master bridge | grep -qv "state UP"; do sleep 0.1; done' \
        sh "$1" || fail "not every port of the bridge $1 is up"
}

# awaits TEXT FILE: waits until a process has written TEXT, for at most two minutes.
awaits() {
    timeout 120 sh -c 'until grep -q "$1" "$2" 2>/dev/null; do sleep 0.1; done' sh "$1" "$2" || {
        cat "$2" >&2
        fail "no '$1' in $2"
    }
}

daemon=
start_namespaces() {
    if [ -n "$daemon" ]; then
        kill "$daemon"
        wait "$daemon" || fail "the balancer did not end in order: $?"
    fi
    : >/run/balancer.log
    # Not `on`: a function in the background is a shell, but the signal must reach the daemon.
    BALANCE=$1 nsenter --net=/run/netns/balancer "$node" balancer >/run/balancer.log 2>&1 &
    daemon=$!
    awaits 'udp-fanout is running' /run/balancer.log
}
ask_namespaces() { on client "$node" client "$@"; }

# ---- the scenario

# expect STRATEGY REPORT PYTHON-EXPRESSION WORDS
expect() {
    /usr/bin/python3 -c '
import json, sys
report = json.loads(sys.argv[1])
answers = report["answers"]
counts = [answers.get(f"backend-{number}", 0) for number in (1, 2, 3)]
sys.exit(0 if eval(sys.argv[2]) else 1)' "$2" "$3" || fail "$1: not so: $4: $2"
}

check() {
    local strategy=$1 report addresses
    # 300 clients in all, three datagrams each.
    addresses=10.88.0.20
    [ "$strategy" != iphash ] || addresses=$(printf '10.88.0.%d ' $(seq 101 130))
    # shellcheck disable=SC2086  # addresses are words
    report=$("ask_$way" $((300 / $(wc -w <<<"$addresses"))) 3 $addresses | tail -n 1)
    expect "$strategy" "$report" 'report["sent"] == 900 and report["lost"] == 0 and sum(counts) == 900' \
        'every datagram gets a reply'
    expect "$strategy" "$report" 'report["faithless"] == 0' 'a client stays with its backend'
    case $strategy in
    roundrobin | round_robin)
        # Allow one schedule for each CPU: the scheduler may move the client in spite of its affinity.
        expect "$strategy" "$report" 'max(counts) - min(counts) <= 3 * len(__import__("os").sched_getaffinity(0))' \
            'each backend gets every third client'
        ;;
    random | four_tuple)
        expect "$strategy" "$report" 'all(abs(count - 300) <= 3 * 45 for count in counts)' \
            'a third each, within 5.5 standard deviations'
        ;;
    iphash | source_ip)
        expect "$strategy" "$report" 'report["split_addresses"] == 0' \
            'one backend gets all clients of an address'
        expect "$strategy" "$report" 'min(counts) > 0' 'every backend has clients'
        ;;
    esac
    printf 'scenario: %-11s %s\n' "$strategy" "$report"
}

"up_$way"
for strategy in $strategies; do
    "start_$way" "$strategy"
    check "$strategy"
done
echo 'scenario: all strategies spread as they promise'
