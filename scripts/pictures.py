#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of the status page and of udp-fanout top in docs/pictures, as make pictures does.

A daemon forwards steady traffic to real receivers, in its own network with documentation addresses. Then one receiver
is drained and another closes its port. The network ends with the script. Needs root.
"""

import argparse
import base64
import fcntl
import json
import math
import os
import pty
import random
import re
import runpy
import select
import socket
import struct
import subprocess
import termios
import threading
import time
from xml.sax.saxutils import escape

import own_network
from own_network import ROOT, run

PICTURES = ROOT / "docs/pictures"
CONFIG_PATH = "/etc/udp-fanout/config.yaml"
COLUMNS, ROWS = 100, 20
WIDTH, SCALE = 880, 1.25
# Seconds of traffic before two receivers leave, and after.
BEFORE, AFTER = 45, 30
LISTENERS = [
    ("netflow", 2055, "source_ip", [(f"collector-{n}", f"192.0.2.1{n}", 1) for n in [1, 2, 3]]),
    ("syslog", 514, "round_robin", [(f"log-{n}", f"192.0.2.2{n}", 2 if n == 1 else 1) for n in [1, 2, 3]])]
CONFIG = {
    "listeners": [
        {"name": name, "bind": f"192.0.2.1:{port}", "balance": balance,
         "downstream": [{"name": receiver, "address": f"{address}:{port}", "weight": weight}
                        for receiver, address, weight in receivers]}
        for name, port, balance, receivers in LISTENERS],
    "settings": {"workers": 2, "max_packet_size": 2048},
    "health": {"enabled": True, "protocol": "udp", "payload_preset": "empty", "interval_secs": 2, "timeout_secs": 1},
    "metrics": {"enabled": True, "bind": "192.0.2.1:9090"}}


class Traffic:
    """Receivers that read all datagrams, and a sender with many addresses whose rate changes slowly."""

    def __init__(self):
        run("ip link set lo up && ip address add 192.0.2.0/24 dev lo && ip route add local 198.51.100.0/24 dev lo")
        self.sources = [self.bound(f"198.51.100.{host}", 0) for host in range(1, 241)]
        for _, port, _, receivers in LISTENERS:
            for _, address, _ in receivers:
                threading.Thread(target=self.receive, args=[self.bound(address, port)], daemon=True).start()

    @staticmethod
    def bound(address, port):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind((address, port))
        return one

    @staticmethod
    def receive(receiver):
        with receiver:
            while receiver.recv(65535) != b"end":
                pass

    def end(self, *receiver):
        self.sources[0].sendto(b"end", receiver)

    def start(self):
        threading.Thread(target=self.send, daemon=True).start()

    def send(self):
        owed, then = [0, 0, 0], time.monotonic()
        while True:
            time.sleep(0.004)
            now = time.monotonic()
            # NetFlow, syslog, and syslog messages that are too long.
            rates = [2900 + 400 * math.sin(now / 7) + 120 * math.sin(now * 1.3),
                     1250 + 180 * math.sin(now / 5 + 2) + 80 * math.sin(now * 1.7), 2.5]
            for kind, (port, size) in enumerate([(2055, 1400), (514, 220), (514, 4000)]):
                owed[kind] += rates[kind] * (now - then)
                while owed[kind] >= 1:
                    owed[kind] -= 1
                    random.choice(self.sources).sendto(bytes(size), ("192.0.2.1", port))
            then = now


def page(browser):
    """Saves the status page in light and in dark, with the first listener closed and without the footer."""
    browser.open("http://192.0.2.1:9090/", WIDTH)
    browser.evaluate("document.querySelector('.listener').open = false")
    time.sleep(5)
    height = browser.evaluate("document.querySelector('footer').getBoundingClientRect().top")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": SCALE}
    for scheme in ["light", "dark"]:
        browser.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        time.sleep(1)
        shot = browser.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        (PICTURES / f"status-page-{scheme}.png").write_bytes(base64.b64decode(shot["data"]))


def screen(command):
    """Runs the command on a terminal; returns the lines of its last screen, with colours."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = dict(os.environ, TERM="xterm-256color", NO_COLOR="")
    process = subprocess.Popen(command, stdin=there, stdout=there, stderr=there, env=environment)
    os.close(there)
    drawn = b""
    while select.select([here], [], [], 20)[0]:
        try:
            drawn += os.read(here, 1 << 16)
        except OSError:
            break
    if process.wait(20):
        raise SystemExit(f"pictures: {drawn.decode()}")
    # Each update draws from the top (CUP) and clears what is right and below (EL, ED).
    text = drawn.decode().rsplit("\x1b[H", 1)[1].replace("\x1b[K", "").replace("\x1b[J", "")
    lines = text.replace("\r", "").rstrip("\n").split("\n")
    for line in lines:
        if len(re.sub(r"\x1b\[\d*m", "", line)) > COLUMNS or len(lines) > ROWS:
            raise SystemExit(f"pictures: larger than the terminal: {line}")
    return lines


def top(command):
    """Saves the screen of udp-fanout top as SVG text, with colours (SGR) as classes."""
    classes = {"1": "strong", "31": "bad", "32": "good", "33": "warn"}
    lines = []
    for number, line in enumerate(screen(command)):
        marked, style = "", None
        for piece in re.split(r"(\x1b\[\d*m)", line):
            if code := re.fullmatch(r"\x1b\[(\d*)m", piece):
                style = classes.get(code[1])
            elif piece:
                marked += f'<tspan class="{style}">{escape(piece)}</tspan>' if style else escape(piece)
        if marked:
            lines.append(f'  <text x="20" y="{64 + 18 * number}">{marked}</text>')
    height = 64 + 18 * (number + 1)
    (PICTURES / "top.svg").write_text(f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 {height}" width="820" height="{height}" role="img" \
aria-labelledby="title desc" xml:space="preserve">
  <!-- SPDX-License-Identifier: Apache-2.0 -->
  <title id="title">udp-fanout top on a terminal</title>
  <desc id="desc">Two listeners with their rates and drops. Below each its receivers with state, weight and counters; \
a drained receiver is yellow, an unhealthy one is red.</desc>
  <style>
    .ground {{ fill: #ffffff; stroke: #d3dae3; }}
    .bar {{ fill: #f1f4f8; stroke: #d3dae3; }} .button {{ fill: #c3ccd7; }}
    text {{ font: 13px ui-monospace, "DejaVu Sans Mono", monospace; fill: #17202b; white-space: pre; }}
    .small {{ font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #4e5a69; text-anchor: middle; }}
    .strong {{ font-weight: bold; }} .bad {{ fill: #c0262d; }} .good {{ fill: #17753a; }} .warn {{ fill: #8f5200; }}
    @media (prefers-color-scheme: dark) {{
      .ground {{ fill: #151b22; stroke: #35404d; }}
      .bar {{ fill: #1f2832; stroke: #35404d; }} .button {{ fill: #4a5868; }}
      text {{ fill: #e8edf3; }} .small {{ fill: #aab6c4; }}
      .bad {{ fill: #ff8a84; }} .good {{ fill: #58d68a; }} .warn {{ fill: #f2b84b; }}
    }}
  </style>
  <rect class="ground" x="0.5" y="0.5" width="819" height="{height - 1}" rx="10"/>
  <path class="bar" d="M0.5 32.5V10.5a10 10 0 0 1 10-10H809.5a10 10 0 0 1 10 10V32.5Z"/>
  <circle class="button" cx="20" cy="16.5" r="5"/><circle class="button" cx="38" cy="16.5" r="5"/>
  <circle class="button" cx="56" cy="16.5" r="5"/>
  <text class="small" x="410" y="21">udp-fanout top</text>
""" + "\n".join(lines) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--daemon", required=True)
    options = parser.parse_args()
    path = os.path.abspath(options.daemon)
    own_network.begin("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    # A private layer over /etc: the picture shows the usual path.
    run("mkdir /mnt/etc /mnt/work && mount -t overlay none -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/work /etc")
    run(f"mkdir -p {os.path.dirname(CONFIG_PATH)}")
    # JSON is YAML.
    own_network.put(CONFIG_PATH, json.dumps(CONFIG))
    os.environ["RUNTIME_DIRECTORY"] = "/mnt"
    # First, because the shell that starts Chromium passes on only descriptors below 10.
    browser = runpy.run_path(str(ROOT / "scripts/test-browser.py"))["Browser"]("/mnt/profile")
    traffic = Traffic()
    daemon = own_network.Daemon(path, "--config", CONFIG_PATH)
    try:
        daemon.wait("the start")
        traffic.start()
        time.sleep(BEFORE)
        subprocess.run([path, "drain", "collector-3"], check=True)
        traffic.end("192.0.2.23", 514)
        time.sleep(AFTER)
        top([path, "top", "--count", "3"])
        page(browser)
    finally:
        browser.end()
        daemon.stop()


if __name__ == "__main__":
    main()
