#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""takeovers.py --daemon PATH [--publisher PATH] [--rate 50000] [--rounds 5] [--modes userspace,tc_ebpf,xdp_nat]

Measures the loss of takeovers under load in each mode, in its own network: while the publisher sends numbered
datagrams, one daemon after another takes over (udp-fanout --takeover). It prints how many datagrams were sent, how
many were lost and how many arrived twice.

  src (10.8.0.2) in0 | lb0 (10.8.0.1) lb (10.8.1.1) out0 | in0 dst (10.8.1.2, .3, .4)

Exits with 0 when none was lost and none arrived twice. Needs root."""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from own_network import ROOT, Daemon, begin, enter, is_over, run  # noqa: E402

PORT = 5514
HOSTS = 2, 3, 4
# More than is ever sent here.
NUMBERS = 1 << 26


def build():
    for name in "src", "lb", "dst":
        run(f"ip netns add {name} && ip -n {name} link set lo up")
    for near, far, subnet in ("lb0", "src", 0), ("out0", "dst", 1):
        run(f"ip -n lb link add {near} type veth peer name in0 netns {far}")
        for name, link, number in ("lb", near, 1), (far, "in0", 2):
            run(f"ip -n {name} link set {link} up && ip -n {name} address add 10.8.{subnet}.{number}/24 dev {link}")
        # Redirected packets need complete checksums, and a receiver that takes XDP frames.
        run(f"nsenter --net=/run/netns/{far} ethtool -K in0 tx off gro on >/dev/null")
        run(f"ip -n {far} route add default via 10.8.{subnet}.1")
    for host in HOSTS[1:]:
        run(f"ip -n dst address add 10.8.1.{host}/24 dev in0")
    run("nsenter --net=/run/netns/lb sysctl -qw net.ipv4.ip_forward=1")


def configuration(mode):
    lines = ["settings: {recv_buf_size: 33554432}", "listeners:", f"  - name: {mode}",
             f'    bind: "10.8.0.1:{PORT}"', f"    mode: {mode}"]
    lines += ["    interface: lb0"] if mode != "userspace" else []
    lines += ["    downstream:"]
    lines += [f'      - {{name: dst{host}, address: "10.8.1.{host}:{PORT}"}}' for host in HOSTS]
    return "\n".join(lines) + "\n"


def receive(into, stop):
    """A process that records arrivals by number, until its input ends."""
    pid = os.fork()
    if pid:
        return pid
    os.close(stop[1])
    enter("dst")
    inbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inbox.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)  # SO_RCVBUFFORCE
    inbox.bind(("0.0.0.0", PORT))
    inbox.settimeout(0.2)
    os.write(into, b"ready\n")
    seen, arrived = bytearray(NUMBERS), 0
    start = len(b"Hello World ")
    while True:
        try:
            data = inbox.recv(2048)
        except TimeoutError:
            if is_over(stop[0]):
                break
            continue
        arrived += 1
        seen[int(data[start:data.index(b"!")])] = 1
    os.write(into, f"{arrived} {seen.count(1)}\n".encode())
    os._exit(0)


def take_over(old, arguments, log):
    """Starts a daemon that takes over from another one, and waits until it has."""
    daemon = Daemon(arguments.daemon, "--takeover", "--config", "/mnt/config.yaml", log=log)
    daemon.wait("the takeover")
    if old.process.wait(20):
        raise SystemExit(f"takeovers: the old daemon failed:\n{old.text[-3000:]}")
    return daemon


def measure(mode, arguments):
    """Sent, lost, doubled."""
    result, stop = os.pipe(), os.pipe()
    receiver = receive(result[1], stop)
    os.close(result[1])
    report = os.fdopen(result[0])
    report.readline()
    pathlib.Path("/mnt/config.yaml").write_text(configuration(mode))
    daemon, publisher = Daemon(arguments.daemon, "--config", "/mnt/config.yaml", log="/mnt/log0"), None
    try:
        daemon.wait("the start")
        publisher = subprocess.Popen(
            ["nsenter", "--net=/run/netns/src", arguments.publisher, "10.8.0.1", str(PORT), "0", "--rate",
             str(arguments.rate), "--size", "64", "--json", "--quiet"], stdout=subprocess.PIPE, text=True)
        for turn in range(1, arguments.rounds + 1):
            time.sleep(1)
            daemon = take_over(daemon, arguments, f"/mnt/log{turn}")
        time.sleep(1)
        publisher.send_signal(signal.SIGINT)
        sent = json.loads(publisher.communicate(timeout=20)[0])
        time.sleep(0.5)
    finally:
        if publisher and publisher.poll() is None:
            publisher.kill()
        daemon.stop()
    os.close(stop[1])
    os.close(stop[0])
    arrived, different = (int(word) for word in report.readline().split())
    os.waitpid(receiver, 0)
    return sent, arrived, different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--daemon", default=str(ROOT / ".build/release/udp-fanout"))
    parser.add_argument("--publisher", default=str(ROOT / ".build/release/publisher"))
    parser.add_argument("--rate", type=int, default=50_000, help="datagrams a second")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--modes", default="userspace,tc_ebpf,xdp_nat")
    arguments = parser.parse_args()
    arguments.daemon, arguments.publisher = (os.path.abspath(path) for path in (arguments.daemon, arguments.publisher))
    for path in (arguments.daemon, arguments.publisher):
        if not os.access(path, os.X_OK):
            parser.error(f"{path} is not there: make build")
    begin("--mount")
    build()
    enter("lb")
    print(f"{arguments.rounds} takeovers, {arguments.rate} datagrams a second")
    print(f"{'mode':12}{'sent':>9}{'a second':>10}{'lost':>7}{'twice':>7}")
    status = 0
    for mode in arguments.modes.split(","):
        sent, arrived, different = measure(mode, arguments)
        lost, twice = sent["sent"] - different, arrived - different
        print(f"{mode:12}{sent['sent']:9}{sent['rate']:10.0f}{lost:7}{twice:7}", flush=True)
        status |= bool(lost or twice)
    sys.exit(status)


main()
