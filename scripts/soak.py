#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py --daemon PATH [--mode af_xdp] [--seconds 600] [--rate 5000]

Sends mixed traffic to a kernel mode, in its own lab: good datagrams, malformed ones, fragments, the seeds of the
fuzzer, other ports, ARP. Exits with 0 when each good datagram has reached a receiver once, datagrams for no listener
have reached their sockets, and the daemon's counters add up: received = forwarded + the sum of the drops.

  src (10.8.0.2) in0 | lb0 (10.8.0.1) lb (10.8.1.1) out0 | in0 dst (10.8.1.2, .3, .4)

The services are 10.8.9.1 and 2001:db8:0:9::1, port 5514, as in Fuzz/corpus/frames. Needs root."""

import argparse
import json
import os
import pathlib
import random
import socket
import struct
import sys
import time

sys.dont_write_bytecode = True
from own_network import ROOT, Daemon, at_rest, begin, books, enter, is_over, run  # noqa: E402

PORT, OTHER_PORT = 5514, 7777
MACS = {"in0": bytes([2, 0, 0, 8, 0, 2]), "lb0": bytes([2, 0, 0, 8, 0, 1])}
SERVICES = {4: "10.8.9.1", 6: "2001:db8:0:9::1"}
SOURCES = {4: "10.8.0.2", 6: "2001:db8::2"}
HEAD = 19  # of a fuzzer's input, Fuzz/datapath/input.h


def mac(address):
    return ":".join(f"{byte:02x}" for byte in address)


def build():
    for name in "src", "lb", "dst":
        run(f"ip netns add {name} && ip -n {name} link set lo up")
    run(f"ip -n lb link add lb0 address {mac(MACS['lb0'])} type veth"
        f" peer name in0 address {mac(MACS['in0'])} netns src")
    run("ip -n lb link add out0 type veth peer name in0 netns dst")
    for name, end in ("lb", "lb0"), ("lb", "out0"), ("src", "in0"), ("dst", "in0"):
        run(f"ip -n {name} link set {end} up")
    for name, end, v4, v6 in [("src", "in0", "10.8.0.2", "2001:db8::2"),
                              ("lb", "lb0", "10.8.0.1", "2001:db8::1"),
                              ("lb", "out0", "10.8.1.1", "2001:db8:0:1::1")] + [
                                  ("dst", "in0", f"10.8.1.{host}", f"2001:db8:0:1::{host}")
                                  for host in (2, 3, 4)]:
        run(f"ip -n {name} address add {v4}/24 dev {end}")
        run(f"ip -n {name} address add {v6}/64 dev {end} nodad")
    for name, net in ("src", 0), ("dst", 1):
        run(f"ip -n {name} route add default via 10.8.{net}.1")
        run(f"ip -n {name} -6 route add default via 2001:db8:0:{net}::1")
    run("nsenter --net=/run/netns/lb sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
    # Redirected frames need complete checksums.
    run("nsenter --net=/run/netns/src ethtool -K in0 tx off >/dev/null")
    # A veth with a queue makes the sender wait when its other end is slow (Linux 6.16); without a queue it drops
    # uncounted.
    run("nsenter --net=/run/netns/src tc qdisc replace dev in0 root pfifo limit 100000")
    # An interface with a tentative address does not resolve neighbours, and the kernel keeps at most a hundred packets
    # for each.
    for name in "src", "lb", "dst":
        while "tentative" in run(f"ip -n {name} -6 address show", capture_output=True).stdout:
            time.sleep(0.1)


def configuration(mode):
    lines = ["listeners:"]
    for family, bind in (4, SERVICES[4]), (6, f"[{SERVICES[6]}]"):
        lines += [f"  - name: v{family}", f'    bind: "{bind}:{PORT}"', f"    mode: {mode}",
                  "    interface: lb0", "    downstream:"]
        for host in 2, 3, 4:
            address = f"10.8.1.{host}" if family == 4 else f"[2001:db8:0:1::{host}]"
            lines += [f"      - name: dst{host}", f'        address: "{address}:{PORT}"']
    return "\n".join(lines + ["metrics:", "  enabled: true", '  bind: "127.0.0.1:9090"', ""])


def checksum(data):
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(family, payload, port=PORT, to=None):
    """The headers of IP and UDP, and the payload."""
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    ends = socket.inet_pton(kind, SOURCES[family]) + socket.inet_pton(kind, to or SERVICES[family])
    udp = struct.pack("!HHHH", random.randint(1024, 65535), port, 8 + len(payload), 0)
    right = checksum(ends + struct.pack("!IHBB", len(udp + payload), 0, 0, 17) + udp + payload)
    udp = udp[:6] + struct.pack("!H", right or 0xFFFF) + payload
    if family == 6:
        return struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + ends + udp
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), random.getrandbits(16), 0, 64, 17, 0)
    right = checksum(header + ends)
    return header[:10] + struct.pack("!H", right) + ends + udp


def frame(packet):
    kind = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    return MACS["lb0"] + MACS["in0"] + struct.pack("!H", kind) + packet


def mend(ip):
    header = (ip[0] & 15) * 4
    if ip[0] >> 4 == 4 and 20 <= header <= len(ip):
        ip[10:12] = bytes(2)
        ip[10:12] = struct.pack("!H", checksum(bytes(ip[:header])))


def malformed(family):
    """Changes one to three bytes of the headers; then cuts or lengthens the frame, or leaves its length."""
    made = bytearray(frame(packet(family, b"odd " + bytes(60))))
    for _ in range(random.randint(1, 3)):
        made[random.randrange(12, 42 if family == 4 else 62)] = random.getrandbits(8)
    if random.random() < 0.3:
        made = made[:random.randrange(14, len(made))]
    elif random.random() < 0.2:
        made += bytes(random.randrange(1, 40))
    if random.random() < 0.6 and len(made) >= 34:
        ip = made[14:]
        mend(ip)
        made[14:] = ip
    return [bytes(made)]


def fragments():
    whole = packet(4, b"frag" + bytes(2996))
    frames = []
    for start in range(0, len(whole) - 20, 1480):
        part = whole[20 + start:20 + start + 1480]
        more = start + 1480 < len(whole) - 20
        head = bytearray(whole[:20])
        head[2:4] = struct.pack("!H", 20 + len(part))
        head[6:8] = struct.pack("!H", start // 8 | (0x2000 if more else 0))
        mend(head)
        frames.append(frame(bytes(head) + part))
    random.shuffle(frames)
    return frames


def send(arguments, tally):
    """Sends the mix, in the network src, at an even pace."""
    enter("src")
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind(("in0", 0))
    seeds = [path.read_bytes()[HEAD:] for path in sorted((ROOT / "Fuzz/corpus/frames").iterdir())]
    start = time.monotonic()
    sent = 0
    while time.monotonic() - start < arguments.seconds:
        family = random.choice((4, 6))
        draw = random.random()
        if draw < 0.6:
            frames = [frame(packet(family, b"good" + struct.pack("!Q", tally["good"])))]
            tally["good"] += 1
        elif draw < 0.8:
            frames = malformed(family)
        elif draw < 0.85:
            frames = fragments()
        elif draw < 0.95:
            to = "10.8.0.1" if family == 4 else "2001:db8::1"
            frames = [frame(packet(family, b"other", OTHER_PORT, to))]
            tally["other"] += 1
        else:
            seed = random.choice(seeds)
            frames = [MACS["lb0"] + seed[6:]] if len(seed) >= 14 else []
        for made in frames:
            wire.send(made)
            sent += 1
        ahead = start + sent / arguments.rate - time.monotonic()
        if ahead > 0.002:
            time.sleep(ahead)
    tally["frames"] = sent


def receive(namespace, port, into, out):
    """A process that counts datagrams by their beginning, until its input ends."""
    if os.fork():
        return
    os.close(out[1])
    enter(namespace)
    inbox = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    inbox.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    inbox.bind(("::", port))
    inbox.settimeout(0.2)
    counts, seen = {}, set()
    os.write(into, b"ready\n")
    while True:
        try:
            data = inbox.recv(65536)
        except TimeoutError:
            if is_over(out[0]):
                break
            continue
        counts[data[:4]] = counts.get(data[:4], 0) + 1
        if data[:4] == b"good":
            seen.add(data[4:12])
    mark = b"good" if port == PORT else b"othe"
    odd = counts.get(b"odd ", 0) + counts.get(b"frag", 0)
    os.write(into, f"{counts.get(mark, 0)} {len(seen)} {odd}\n".encode())
    os._exit(0)


def lost_by_links():
    """Frames dropped at the ends of the veths, which only the links count."""
    places = []
    for namespace, end in ("src", "in0"), ("lb", "lb0"), ("lb", "out0"), ("dst", "in0"):
        shown = run(f"ip -n {namespace} -s -j link show dev {end}", capture_output=True).stdout
        counts = json.loads(shown)[0]["stats64"]
        places.append(f"{namespace}/{end} tx {counts['tx']['dropped']} rx {counts['rx']['dropped']}")
    return ", ".join(places)


def judge(page, tally, arrived, others):
    troubles = []
    print(f"soak: {tally['frames']} frames sent; dropped by the links: {lost_by_links()}")
    for family in 4, 6:
        received, forwarded, dropped = books(page, f"v{family}")
        print(f"soak: v{family}: received {received} = forwarded {forwarded} + dropped {dropped}")
        if received != forwarded + dropped or not received:
            troubles.append(f"the counters of v{family} do not add up")
    print(f"soak: good datagrams: {tally['good']} sent, {arrived[0]} arrived, {arrived[1]} of them different; "
          f"of the others {arrived[2]} arrived")
    print(f"soak: for no listener: {tally['other']} sent, {others[0]} arrived")
    for line in page.splitlines():
        if line.startswith("udp_fanout_afxdp"):
            print(f"soak: {line}")
    if not tally["good"] == arrived[0] == arrived[1]:
        troubles.append("good datagrams were lost or doubled")
    if tally["other"] != others[0]:
        troubles.append("what is for no listener did not pass")
    return troubles


def answers_arp():
    """Whether the balancer answers ARP again."""
    enter("src")
    run("ip neigh flush dev in0")
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"other", ("10.8.0.1", OTHER_PORT))
    for _ in range(20):
        if "lladdr" in run("ip neigh show 10.8.0.1", capture_output=True).stdout:
            return True
        time.sleep(0.1)
    return False


def soak(arguments):
    build()
    path = "/mnt/config.yaml"
    pathlib.Path(path).write_text(configuration(arguments.mode))
    reports, stops = [], os.pipe()
    for namespace, port in ("dst", PORT), ("lb", OTHER_PORT):
        result = os.pipe()
        receive(namespace, port, result[1], stops)
        os.close(result[1])
        reports.append(os.fdopen(result[0]))
        reports[-1].readline()
    enter("lb")
    daemon = Daemon(arguments.daemon, "--config", path, "--log-level", "debug")
    try:
        daemon.wait("the start")
        tally = {"good": 0, "other": 0}
        send(arguments, tally)
        enter("lb")
        page = at_rest()
        os.close(stops[1])
        os.close(stops[0])
        arrived, others = ([int(word) for word in report.readline().split()] for report in reports)
        troubles = judge(page, tally, arrived, others)
        if not answers_arp():
            troubles.append("ARP is not answered")
    finally:
        status = daemon.stop()
        said = [line for line in daemon.text.splitlines() if "heartbeat" not in line]
        sys.stderr.write("\n".join(said + [""]))
    if arguments.mode == "af_xdp" and not any("frames are accounted for" in line for line in said):
        troubles.append("frames are not accounted for")
    if status:
        troubles.append(f"the daemon ended with {status}")
    print("soak: " + ("; ".join(troubles) if troubles else f"{tally['frames']} frames, all is accounted for"))
    return 1 if troubles else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--daemon", default=str(ROOT / ".build/release/udp-fanout"))
    parser.add_argument("--mode", default="af_xdp")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=5000, help="frames a second")
    arguments = parser.parse_args()
    arguments.daemon = os.path.abspath(arguments.daemon)
    begin("--mount")
    sys.exit(soak(arguments))


main()
