#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the status page of a running daemon with a browser, as make test-browser does.

The script drives a headless Chromium by its debugging pipe: the page must be live, complete and free of errors and
policy violations, at the width of a phone and of a desktop, in light and dark, and without scripts. Screenshots are
saved in the given folder.
"""

import argparse
import base64
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

checks = {"passed": 0, "failed": 0}


def check(holds, what):
    checks["passed" if holds else "failed"] += 1
    print(("ok      " if holds else "NOT OK  ") + what, flush=True)


class Browser:
    """Chromium, controlled by the DevTools protocol over two pipes."""

    def __init__(self, folder):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = [
            "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--remote-debugging-pipe", "--hide-scrollbars", f"--user-data-dir={folder}",
            "about:blank"]
        shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["sh", "-c", shell, "sh"] + command, pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.reader, self.writer = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self.number, self.session, self.buffer, self.trouble = 0, None, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log"]:
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        self.writer.flush()
        while True:
            answer = self.next()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def next(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.reader.fileno(), 1 << 16)
            if not piece:
                raise RuntimeError("chromium has ended")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        about, said = message.get("method"), message.get("params", {})
        if about == "Runtime.exceptionThrown":
            self.trouble.append(said["exceptionDetails"]["text"])
        elif about == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.trouble.append(said["entry"]["text"])
        elif about == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.trouble.append(str(said["args"]))
        return message

    def evaluate(self, expression):
        result = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['text']}")
        return result["result"].get("value")

    def open(self, address, width, height=900, dark=False, scripts=True):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=2 if width < 600 else 1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.ask("Page.navigate", url=address)
        time.sleep(1)

    def picture(self, path):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 4000), "scale": 1}
        shot = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def end(self):
        try:
            self.ask("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(timeout=20)


def free_port(kind=socket.SOCK_DGRAM):
    with socket.socket(socket.AF_INET, kind) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Scene:
    """A daemon with traffic, receivers in every state, and a name with markup."""

    nasty = "<img src=x onerror=alert(1)>"

    def __init__(self, daemon, folder):
        self.sinks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(5)]
        for sink in self.sinks:
            sink.bind(("127.0.0.1", 0))
        ports = [sink.getsockname()[1] for sink in self.sinks]
        self.listeners = [free_port() for _ in range(4)]
        self.metrics = free_port(socket.SOCK_STREAM)

        def receivers(*entries):
            return [{"name": name, "address": f"127.0.0.1:{port}", "weight": weight}
                    for name, port, weight in entries]

        names = ["netflow", "syslog", self.nasty, "empty"]
        downs = [
            receivers(("collector-1", ports[0], 2), ("collector-2", ports[1], 1), ("retired", ports[2], 0)),
            receivers(*[(f"sink-{n}", ports[n % 5] if n else free_port(), 1) for n in range(5)]),
            receivers(("<b>bold</b>", ports[3], 1)), receivers(("gone", free_port(), 1))]
        config = {
            "listeners": [
                {"name": name, "bind": f"127.0.0.1:{port}", "balance": balance, "downstream": down}
                for name, port, balance, down in zip(
                    names, self.listeners, ["source_ip", "round_robin", "random", "four_tuple"], downs)],
            "settings": {"max_packet_size": 600, "workers": 1},
            "health": {"enabled": True, "protocol": "udp", "interval_secs": 1, "timeout_secs": 1},
            "metrics": {"enabled": True, "bind": f"127.0.0.1:{self.metrics}"}}
        # JSON is YAML.
        path = folder / "config.yaml"
        path.write_text(json.dumps(config))
        self.address = f"http://127.0.0.1:{self.metrics}/"
        self.daemon = start(daemon, path, self.address)
        self.is_over = False
        self.thread = threading.Thread(target=self.send, daemon=True)
        self.thread.start()

    def send(self):
        sources = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(16)]
        for number, source in enumerate(sources):
            source.bind((f"127.0.1.{number + 1}", 0))
        turn = 0
        while not self.is_over:
            turn += 1
            busy = 12 + (turn // 40) % 9
            for number in range(busy):
                source = sources[(turn + number) % 16]
                source.sendto(b"x" * 100, ("127.0.0.1", self.listeners[number % 3]))
            if turn % 9 == 0:
                sources[0].sendto(b"x" * 700, ("127.0.0.1", self.listeners[1]))
                sources[0].sendto(b"x", ("127.0.0.1", self.listeners[3]))
            time.sleep(0.01)

    def end(self):
        self.is_over = True
        self.thread.join()
        stop(self.daemon)


def start(daemon, config, address):
    environment = dict(os.environ, RUNTIME_DIRECTORY=str(config.parent))
    log = config.with_suffix(".log")
    with log.open("wb") as errors:
        process = subprocess.Popen([daemon, "--config", str(config)], env=environment, stderr=errors)
    limit = time.monotonic() + 120
    while "udp-fanout is running" not in log.read_text():
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError(log.read_text()[-2000:])
        time.sleep(0.1)
    urllib.request.urlopen(address + "healthz", timeout=10).read()
    return process


def stop(process):
    process.terminate()
    process.wait(timeout=30)


def look(browser, scene, pictures):
    """The page with traffic."""
    # Let the daemon collect some history.
    time.sleep(8)
    browser.open(scene.address, 1280)
    charts = "[...document.querySelectorAll('.chart')].filter(s => s.querySelector('.l1')).length"
    check(browser.evaluate(charts) == 5, "opened, it has the charts of the time before")
    opened = browser.evaluate("document.querySelector('[data-total] .rate').textContent")
    check(opened != "0", f"opened, it has rates ({opened})")
    time.sleep(24)
    for width, name in [(1280, "desk"), (390, "phone")]:
        for dark in [False, True]:
            if width == 390 or dark:
                browser.open(scene.address, width, dark=dark)
                time.sleep(18)
            picture = f"{name}-{'dark' if dark else 'light'}"
            browser.picture(pictures / f"{picture}.png")
            wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth")
            check(wide <= 0, f"{picture}: nothing is wider than the screen ({wide})")
            check(browser.evaluate("document.getElementById('live').textContent") == "live",
                  f"{picture}: it is live")
            drawn = browser.evaluate(charts)
            check(drawn == 5, f"{picture}: a chart for all and one for each listener ({drawn})")
    number = "document.querySelector('[data-total] .count').textContent.replace(/\\D/g, '')"
    first = int(browser.evaluate(number))
    time.sleep(5)
    check(int(browser.evaluate(number)) > first, "the counts grow without a reload")
    check(browser.evaluate("document.querySelectorAll('main img, main b').length") == 0
          and scene.nasty in browser.evaluate("document.body.innerText"), "a name is text, not markup")
    states = browser.evaluate("[...document.querySelectorAll('.state')].map(e => e.innerText).join()")
    check(all(word in states for word in ["ready", "weight 0", "unhealthy"]), f"states: {states}")
    reasons = browser.evaluate("[...document.querySelectorAll('.drops code')].map(e => e.innerText).join()")
    check("oversize" in reasons and "no_healthy" in reasons, f"reasons: {reasons}")
    check(browser.trouble == [], f"no error and no breach of the policy {browser.trouble}")

    for width, name in [(1280, "desk"), (390, "phone")]:
        browser.open(scene.address, width, scripts=False)
        browser.picture(pictures / f"{name}-without-scripts.png")
    browser.ask("Emulation.setScriptExecutionDisabled", value=False)
    visible = "[...document.querySelectorAll('{}')].filter(e => e.checkVisibility()).length"
    check(browser.evaluate(visible.format(".receivers tbody tr")) == 10, "without scripts: the table")
    check(browser.evaluate(visible.format(".scripted")) == 0, "without scripts: nothing that needs one")


def look_at_many(browser, daemon, folder, listeners, receivers, pictures):
    """A large configuration: the page must stay responsive."""
    metrics = free_port(socket.SOCK_STREAM)
    base = 20000
    config = {
        "listeners": [
            {"name": f"listener-{n:02}", "bind": f"127.0.0.1:{base + n}",
             "downstream": [{"name": f"r{m}", "address": f"127.0.{1 + m // 250}.{1 + m % 250}:{9}"}
                            for m in range(receivers)]} for n in range(listeners)],
        "settings": {"max_downstream": 1024, "workers": 1},
        "metrics": {"enabled": True, "bind": f"127.0.0.1:{metrics}"}}
    path = folder / "many.yaml"
    path.write_text(json.dumps(config))
    process = start(daemon, path, f"http://127.0.0.1:{metrics}/")
    gaps = """new Promise(done => { let last = performance.now(), worst = 0, end = last + 8000;
        const frame = () => { const now = performance.now(); worst = Math.max(worst, now - last);
          last = now; now < end ? setTimeout(frame, 10) : done(worst); }; frame(); })"""
    for target in ["", "?listener=listener-07"]:
        browser.open(f"http://127.0.0.1:{metrics}/{target}", 1280)
        # The first page may take long on a slow machine; afterwards there must be no long pause.
        for _ in range(60):
            if browser.evaluate("(document.getElementById('live') || {}).textContent") == "live":
                break
            time.sleep(0.5)
        worst = browser.evaluate(gaps)
        check(worst < 1000, f"{listeners} × {receivers} /{target}: the longest pause is {worst:.0f} ms")
        check(browser.evaluate("document.getElementById('live').textContent") == "live",
              f"{listeners} × {receivers} /{target}: it is live")
        browser.picture(pictures / f"many{'-one' if target else ''}.png")
    stop(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--daemon", required=True)
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.pictures.mkdir(parents=True, exist_ok=True)
    # A receiver of each listener has a socket.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    folder = pathlib.Path(tempfile.mkdtemp())
    browser = Browser(folder / "profile")
    try:
        scene = Scene(options.daemon, folder)
        try:
            look(browser, scene, options.pictures)
        finally:
            scene.end()
        look_at_many(browser, options.daemon, folder, min(64, most // 1100), 1024, options.pictures)
    finally:
        browser.end()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{checks['passed']} passed, {checks['failed']} failed; screenshots: {options.pictures}")
    raise SystemExit(1 if checks["failed"] else 0)


if __name__ == "__main__":
    main()
