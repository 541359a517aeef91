# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts that test a daemon in its own network, which ends with them."""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(command, **options):
    return subprocess.run(command, shell=True, check=True, text=True, **options)


def begin(*namespaces):
    """Restarts the script in new namespaces (options of unshare, such as `--mount`): the names of network namespaces,
    pins and files below /mnt are private."""
    if os.environ.get("OWN_NETWORK") != "1":
        os.environ["OWN_NETWORK"] = "1"
        os.execvp("unshare", ["unshare", *namespaces, sys.executable] + sys.argv)
    run("mkdir -p /run/netns && mount -t tmpfs none /run/netns && mount -t bpf bpf /sys/fs/bpf")
    run("mount -t tmpfs none /mnt")


def enter(namespace):
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"enter {namespace}")


def put(path, text):
    """Replaces the file in one step."""
    beside = pathlib.Path(path + ".new")
    beside.write_text(text)
    beside.rename(path)


class Daemon:
    """A running daemon, with its log in a file."""

    def __init__(self, path, *arguments, log="/mnt/log"):
        self.log = pathlib.Path(log)
        with self.log.open("w") as output:
            self.process = subprocess.Popen([path, *arguments], stderr=output,
                                            env=dict(os.environ, RUNTIME_DIRECTORY="/mnt"))

    @property
    def text(self):
        return self.log.read_text()

    def wait(self, what, done=lambda text: "udp-fanout is running" in text):
        """Waits until `done` accepts its log; a minute at most."""
        end = time.monotonic() + 60
        while not done(self.text):
            if self.process.poll() is not None or time.monotonic() > end:
                script = pathlib.Path(sys.argv[0]).stem
                raise SystemExit(f"{script}: {what} does not come:\n{self.text[-3000:]}")
            time.sleep(0.02)

    def stop(self):
        """Ends it; returns its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(20)


def metrics():
    with urllib.request.urlopen("http://127.0.0.1:9090/metrics", timeout=5) as answer:
        return answer.read().decode()


def total(page, name, listener):
    lines = re.findall(rf'^udp_fanout_{name}{{[^}}]*listener="{listener}"[^}}]*}} (\S+)$', page, re.M)
    return sum(int(float(value)) for value in lines)


def books(page, listener):
    """Received, forwarded, dropped."""
    return [total(page, f"packets_{name}_total", listener) for name in ("received", "forwarded", "dropped")]


def at_rest():
    """The metrics, once the counters no longer change."""
    before = None
    for _ in range(50):
        page = metrics()
        after = re.sub(r"^(?!udp_fanout_packets).*$\n", "", page, flags=re.M)
        if before == after:
            return page
        before = after
        time.sleep(0.2)
    raise SystemExit("the counters do not come to rest")


def is_over(stop):
    """Whether the other end of a pipe is closed."""
    os.set_blocking(stop, False)
    try:
        return not os.read(stop, 1)
    except BlockingIOError:
        return False
