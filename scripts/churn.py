#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""churn.py --daemon PATH [--seconds 300]

Makes an hour's changes in five minutes, and checks that the daemon does not grow: one daemon with a listener of each
mode, in its own lab. Every 0.75 s the file of receivers changes (in an hour: every nine seconds), receivers' hosts die
and return, every two seconds the configuration changes, and datagrams arrive all the time.

Exits with 0 when resident memory, descriptors, BPF maps and threads do not rise beyond their noise, and received =
forwarded + dropped for every listener.

  src (10.8.0.2) in0 | lb0 (10.8.0.1) lb (10.8.1.1) out0 | in0 dst (10.8.1.2 and more)
  src (10.8.2.2) in1 | lb1 (10.8.2.1) lb

Needs root."""

import argparse
import math
import os
import pathlib
import random
import re
import socket
import sys
import time

sys.dont_write_bytecode = True
from own_network import ROOT, Daemon, at_rest, begin, books, enter, is_over, put, run  # noqa: E402

MODES = {"userspace": ("10.8.0.1", 5514, None), "tc_ebpf": ("10.8.0.1", 5515, "lb0"),
         "xdp_nat": ("10.8.0.1", 5516, "lb0"), "af_xdp": ("10.8.2.1", 5517, "lb1")}
HOSTS = range(2, 42)
RECEIVER_PORT = 9000
# The rise allowed for each measure regardless of its noise: a page table, a pool's thread, a buffer.
FLOORS = {"rss_kib": 2048, "descriptors": 3, "maps": 2, "threads": 2}


def build():
    for name in "src", "lb", "dst":
        run(f"ip netns add {name} && ip -n {name} link set lo up")
    for near, far, end, subnet in ("lb0", "src", "in0", 0), ("lb1", "src", "in1", 2), ("out0", "dst", "in0", 1):
        run(f"ip -n lb link add {near} type veth peer name {end} netns {far}")
        for name, link, number in ("lb", near, 1), (far, end, 2):
            run(f"ip -n {name} link set {link} up && ip -n {name} address add 10.8.{subnet}.{number}/24 dev {link}")
    run("ip -n dst route add default via 10.8.1.1")
    for host in HOSTS[1:]:
        run(f"ip -n dst address add 10.8.1.{host}/24 dev in0")
    run("nsenter --net=/run/netns/lb sysctl -qw net.ipv4.ip_forward=1")
    for end in "in0", "in1":
        run(f"nsenter --net=/run/netns/src ethtool -K {end} tx off >/dev/null")


def configuration(turn):
    lines = ["listeners:"]
    for mode, (address, port, interface) in MODES.items():
        lines += [f"  - name: {mode}", f'    bind: "{address}:{port}"', f"    mode: {mode}",
                  f"    balance: {('round_robin', 'source_ip', 'four_tuple')[turn % 3]}"]
        lines += [f"    interface: {interface}"] if interface else []
        lines += ["    file: {path: /mnt/receivers, port: %d}" % RECEIVER_PORT]
    if turn % 2:
        lines += ["  - {name: more, bind: '10.8.0.1:5600', file: {path: /mnt/receivers, port: 9000}}"]
    lines += [f"settings: {{workers: {1 + turn % 2}, batch_size: {16 << turn % 3}}}",
              "health: {enabled: true, protocol: icmp, interval_secs: 1, timeout_secs: 1, fall: 1}",
              'metrics: {enabled: true, bind: "127.0.0.1:9090"}']
    return "\n".join(lines) + "\n"


def receivers():
    some = random.sample(list(HOSTS), random.choice((1, 3, 10, 30)))
    return "# now\n" + "".join(f"10.8.1.{host}\n" for host in some)


def send(stop, rate):
    """A process that sends to every listener until its input ends."""
    pid = os.fork()
    if pid:
        return pid
    os.close(stop[1])
    enter("src")
    outlets = []
    for address, port, _ in MODES.values():
        for _ in range(8):
            outlet = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            outlet.connect((address, port))
            outlets.append(outlet)
    start, sent = time.monotonic(), 0
    while True:
        for outlet in outlets:
            try:
                outlet.send(b"datagram")
            except OSError:
                pass
        sent += len(outlets)
        if is_over(stop[0]):
            os._exit(0)
        time.sleep(max(0, start + sent / rate - time.monotonic()))


def receive(stop):
    """A process that reads all datagrams, so that no buffer fills up and none is refused."""
    pid = os.fork()
    if pid:
        return pid
    os.close(stop[1])
    enter("dst")
    inbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    inbox.bind(("0.0.0.0", RECEIVER_PORT))
    inbox.settimeout(0.2)
    while True:
        try:
            inbox.recv(2048)
        except TimeoutError:
            if is_over(stop[0]):
                os._exit(0)


def sample(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    links = []
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{entry}"))
        except FileNotFoundError:
            pass
    number = lambda key: int(re.search(rf"^{key}:\s+(\d+)", status, re.M)[1])
    return {"rss_kib": number("VmRSS"), "descriptors": len(links), "threads": number("Threads"),
            "maps": sum("bpf-map" in link for link in links)}


def line(points):
    """Least squares: the rise over the whole time, and its standard error."""
    n = len(points)
    xs = [index / (n - 1) for index in range(n)]
    mx, my = sum(xs) / n, sum(points) / n
    sxx = sum((x - mx) ** 2 for x in xs)
    slope = sum((x - mx) * (y - my) for x, y in zip(xs, points)) / sxx
    rest = sum((y - my - slope * (x - mx)) ** 2 for x, y in zip(xs, points))
    return slope, math.sqrt(rest / max(1, n - 2) / sxx)


def judge(samples):
    troubles = []
    # Ignore the first fifth, in which pools, caches and tables grow.
    settled = samples[len(samples) // 5:]
    for key, floor in FLOORS.items():
        points = [entry[key] for entry in settled]
        rise, error = line(points)
        bound = floor + 3 * error
        print(f"soak: {key}: {points[0]} at first, {points[-1]} at last, {max(points)} at most; "
              f"rises by {rise:.1f} ± {error:.1f}, {bound:.1f} is noise")
        if rise > bound:
            troubles.append(f"{key} rises")
    return troubles


def balance():
    """Whether each listener's counters add up, once they no longer change."""
    troubles, page = [], at_rest()
    for mode in MODES:
        received, forwarded, dropped = books(page, mode)
        print(f"soak: {mode}: received {received} = forwarded {forwarded} + dropped {dropped}")
        if received != forwarded + dropped or not forwarded:
            troubles.append(f"the counters of {mode} do not add up")
    return troubles


def shake(turn):
    """A quarter of a second's changes."""
    # The daemon takes a file that differs at each poll for one that is still being written.
    if turn % 3 == 0:
        put("/mnt/receivers", receivers())
    if turn % 8 == 4:
        put("/mnt/config.yaml", configuration(turn // 8))
    if turn % 20 == 10:
        hosts = random.sample(list(HOSTS[1:]), 5)
        for host in hosts:
            run(f"ip -n dst address del 10.8.1.{host}/24 dev in0")
        return hosts
    return []


def churn(arguments):
    build()
    put("/mnt/receivers", receivers())
    put("/mnt/config.yaml", configuration(0))
    stop = os.pipe()
    os.set_inheritable(stop[1], False)
    children = [receive(stop)]
    enter("lb")
    daemon = Daemon(arguments.daemon, "--config", "/mnt/config.yaml")
    samples, dead = [], []
    try:
        daemon.wait("the start")
        children.append(send(stop, arguments.rate))
        start = time.monotonic()
        for turn in range(int(arguments.seconds * 4)):
            if turn % 20 == 0:
                for host in dead:
                    run(f"ip -n dst address add 10.8.1.{host}/24 dev in0")
                dead = []
            dead += shake(turn)
            if turn % 4 == 0:
                samples.append(sample(daemon.process.pid))
            time.sleep(max(0, start + (turn + 1) / 4 - time.monotonic()))
        os.close(stop[1])
        os.close(stop[0])
        for child in children:
            os.waitpid(child, 0)
        time.sleep(1)
        troubles = judge(samples) + balance()
    finally:
        status = daemon.stop()
    text = daemon.text
    for word in "configuration reloaded", "file membership updated", "marked unhealthy", " ERROR ":
        print(f"soak: {text.count(word)} × '{word.strip()}'")
    for said in [said for said in text.splitlines() if " ERROR " in said][:5]:
        print("soak: " + said)
    if not text.count("configuration reloaded") or not text.count("file membership updated"):
        troubles.append("nothing has changed")
    if status:
        troubles.append(f"the daemon ended with {status}")
    print("soak: " + ("; ".join(troubles) if troubles else "nothing grows, and the counters add up"))
    return 1 if troubles else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--daemon", default=str(ROOT / ".build/release/udp-fanout"))
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--rate", type=float, default=2000, help="datagrams a second, all listeners together")
    arguments = parser.parse_args()
    arguments.daemon = os.path.abspath(arguments.daemon)
    begin("--mount")
    sys.exit(churn(arguments))


main()
