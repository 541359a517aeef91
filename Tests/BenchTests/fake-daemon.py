#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A slow round-robin forwarder with the command line, the keys and the metrics of udp-fanout that
the bench relies on. With FAKE_DAEMON_LOSES=N it forwards only N-1 of N datagrams and keeps that from
its books, which the bench has to notice. In mode tc_ebpf it has nftables forward to the first
receiver, which is not the way of that mode. In mode af_xdp it forwards by sockets. It refuses mode
xdp_nat as a build without it does."""

import http.server
import os
import re
import socket
import subprocess
import sys
import threading

text = open(sys.argv[sys.argv.index("--config") + 1]).read()
assert sys.argv[sys.argv.index("--log-level") + 1] == "warn"
binds = re.findall(r"bind: (\S+):(\d+)", text)
sinks = [(host, int(port)) for host, port in re.findall(r"address: (\S+):(\d+)", text)]
loses = int(os.environ.get("FAKE_DAEMON_LOSES", "0"))
received = forwarded = 0
if "mode: xdp_nat" in text:
    sys.exit("mode xdp_nat is not part of this build")


class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        labels = 'listener="bench",mode="userspace"'
        for name, value in [
            ("packets_received_total{%s}" % labels, received),
            ("packets_forwarded_total{%s}" % labels, forwarded),
            ('packets_dropped_total{%s,reason="would_block"}' % labels, 0),
            ("kernel_drops_total{%s}" % labels, 0),
        ]:
            self.wfile.write(f"udp_fanout_{name} {value}\n".encode())

    def log_message(self, *_):
        pass


if len(binds) > 1:
    server = http.server.HTTPServer((binds[1][0], int(binds[1][1])), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
if "mode: tc_ebpf" in text:
    rule = "ip daddr %s udp dport %s dnat to %s" % (*binds[0], sinks[0][0])
    chain = "type nat hook prerouting priority dstnat\n%s\n" % rule
    nft = "table ip fake_daemon {\nchain prerouting {\n%s}\n}\n" % chain
    subprocess.run(["nft", "-f", "-"], input=nft, text=True, check=True)
    threading.Event().wait()
if "mode: af_xdp" in text:
    # As the lab does for mode userspace: its address, and a veth that takes frames.
    subprocess.run(["ip", "address", "add", binds[0][0] + "/32", "dev", "lo"], check=True)
    subprocess.run(["ethtool", "-K", "lb0", "gro", "on"], check=True)
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind((binds[0][0], int(binds[0][1])))
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    datagram = listener.recv(65536)
    received += 1
    if loses and received % loses == 0:
        continue
    out.sendto(datagram, sinks[forwarded % len(sinks)])
    forwarded += 1
