#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changes.py --daemon PATH [--receivers 1000] [--rounds 9] [--limit MILLISECONDS]

Measures how long a change of receivers takes: one daemon with a listener of each mode, in its own network. In each
round the script replaces all receivers in the file that the daemon follows. For each mode it prints the milliseconds
from the detection of the change to the use of the new tables, by the daemon's log: the median of the rounds, and the
longest. The first two rounds, which open the sockets for as many receivers for the first time, are listed separately.

Exits with 0 when no median is above --limit. Needs root."""

import argparse
import datetime
import os
import re
import statistics
import sys
import time

sys.dont_write_bytecode = True
from own_network import ROOT, Daemon, begin, put, run  # noqa: E402

MODES = {"userspace": ("10.8.0.1", 5514, None), "tc_ebpf": ("10.8.0.1", 5515, "lb0"),
         "af_xdp": ("10.8.2.1", 5517, "lb1"), "xdp_nat": ("10.8.0.1", 5516, "lb0")}
NOTICED = "file discovery: the file has changed"
MET = "packets use the new tables"


def build():
    run("ip link set lo up")
    for near, far, subnet in ("lb0", "in0", 0), ("lb1", "in1", 2), ("out0", "dst0", 1):
        run(f"ip link add {near} type veth peer name {far} && ip address add 10.8.{subnet}.1/24 dev {near}")
        run(f"ip link set {near} up && ip link set {far} up")
    run("ip neighbour add 10.8.1.2 lladdr 02:00:00:00:00:02 dev out0 && ip route add 10.64.0.0/10 via 10.8.1.2")
    run("sysctl -qw net.ipv4.ip_forward=1")


def configuration(receivers):
    lines = [f"settings: {{max_downstream: {receivers}}}", "listeners:"]
    for mode, (address, port, interface) in MODES.items():
        lines += [f"  - name: {mode}", f'    bind: "{address}:{port}"', f"    mode: {mode}", "    balance: source_ip"]
        lines += [f"    interface: {interface}"] if interface else []
        lines += ["    file: {path: /mnt/receivers, port: 9000}"]
    return "\n".join(lines) + "\n"


def receivers(turn, count):
    return "".join(f"10.{64 + turn % 64}.{host // 250}.{host % 250 + 1}\n" for host in range(count))


def moments(text):
    """(time, event) of each relevant line; for new tables in use, the mode."""
    for line in text.splitlines():
        if NOTICED in line or MET in line:
            when = datetime.datetime.strptime(line.split()[0], "%Y-%m-%dT%H:%M:%S.%fZ").timestamp() * 1000
            yield when, "noticed" if NOTICED in line else re.search(r'mode="?(\w+)', line)[1]


def rounds(text):
    """The milliseconds of each change by mode."""
    found, start = [], None
    for when, what in moments(text):
        if what == "noticed":
            start = when
            found.append({})
        elif start is not None:
            found[-1].setdefault(what, when - start)
    return found


def measure(arguments):
    build()
    put("/mnt/receivers", receivers(0, arguments.receivers))
    put("/mnt/config.yaml", configuration(arguments.receivers))
    daemon = Daemon(arguments.daemon, "--config", "/mnt/config.yaml", "--log-level", "debug")
    try:
        daemon.wait("the start", lambda text: text.count(MET) >= len(MODES) and "udp-fanout is running" in text)
        for turn in range(1, arguments.rounds + 1):
            # New neighbours are a change of the network, which the daemon applies too.
            time.sleep(0.7)
            put("/mnt/receivers", receivers(turn, arguments.receivers))
            # Do not use a CPU for reading the log during the measurement.
            time.sleep(0.3)
            daemon.wait(f"change {turn}",
                        lambda text: len(rounds(text)) == turn and len(rounds(text)[-1]) == len(MODES))
            time.sleep(0.3)
        times = rounds(daemon.text)
    finally:
        daemon.stop()
    settled = times[2:] or times
    print(f"all {arguments.receivers} receivers change: milliseconds until packets use the new tables")
    print(f"{'mode':12}{'median':>8}{'longest':>9}{'first':>8}{'second':>8}")
    worst = 0
    for mode in MODES:
        values = [entry[mode] for entry in settled]
        median = statistics.median(values)
        worst = max(worst, median)
        first = [f"{entry[mode]:.0f}" for entry in (times + [{mode: 0}] * 2)[:2]]
        print(f"{mode:12}{median:8.0f}{max(values):9.0f}{first[0]:>8}{first[1]:>8}")
    if worst > arguments.limit:
        print(f"changes: {worst:.0f} ms is more than {arguments.limit}")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--daemon", default=str(ROOT / ".build/release/udp-fanout"))
    parser.add_argument("--receivers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", type=float, default=50)
    arguments = parser.parse_args()
    arguments.daemon = os.path.abspath(arguments.daemon)
    begin("--mount", "--net")
    sys.exit(measure(arguments))


main()
