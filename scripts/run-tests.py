#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run-tests.py [--all] [--filter REGEX]... [--skip REGEX]... [--jobs N] [--list]
run-tests.py --times

Runs the Swift tests that `swift build --build-tests` built, tier by tier. Tests/Tiers defines the tags of the tiers.

  unit        one process, tests in parallel
  network     a process per suite, --jobs of them side by side (default: 2 per CPU)
  load        a process per suite, one after the other, with the machine to itself
  exhaustive  like load; only with --all

As root each process has network, mount and process namespaces of its own: its own ports, /run and /sys/fs/bpf. Other
users get no namespaces, one process at a time, and no test that needs root.

--filter and --skip take regular expressions on test IDs (MODULE.SUITE/TEST). --list prints the tests and their tiers.
--times prints the slowest suites of the last run. The logs of all processes are in .build/test-logs.

Exits with 0 if at least one test ran and none failed; in CI, as root, also if none was skipped."""

import argparse
import collections
import concurrent.futures
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build/debug"
LOGS = ROOT / ".build/test-logs"
TIMES = ROOT / ".build/test-times.json"
TIERS = ["unit", "network", "load", "exhaustive"]
SILENT_SECONDS = 300  # A process that reports nothing for so long hangs.
LOG_LINES = 150  # Lines printed of a failed process's log.

# The shell is process 1 of the namespaces: what a test leaves running ends with it.
SETUP = """
    cd "${here:=$PWD}" && export here
    mount --make-rprivate / 2>/dev/null || {
        # A chroot, whose / is no mount point. nsenter leaves it, and /mnt becomes a / that is one.
        nsenter --mount=/proc/self/ns/mnt mount --make-rprivate / && mount --rbind / /mnt || exit 125
        exec chroot /mnt sh -c "$0" "$0" "$@"
    }
    while umount -l /sys/fs/bpf 2>/dev/null; do :; done
    mount -t proc proc /proc && mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/netns && mkdir -m 1777 /run/tmp &&
        mount -t bpf bpf /sys/fs/bpf && ip link set lo up || exit 125
    TMPDIR=/run/tmp; export TMPDIR
    "$@"
    """
ISOLATED = ["unshare", "--net", "--mount", "--propagation", "unchanged", "--pid", "--fork", "--kill-child", "sh", "-c",
            SETUP, SETUP]

Test = collections.namedtuple("Test", "id tier")


class Group:
    """Tests of one tier that run in one process."""

    def __init__(self, tier, name, tests):
        self.tier, self.name, self.tests = tier, name, tests
        self.passed, self.failed, self.skipped = [], [], []
        self.suites = collections.Counter()  # seconds of each suite's tests
        self.seconds = 0
        self.trouble = ""

    def run(self, every):
        stem = re.sub(r"[^\w.-]+", "-", f"{self.tier}-{self.name}")
        log, events = LOGS / f"{stem}.log", LOGS / f"{stem}.events"
        events.unlink(missing_ok=True)
        command = bundle("--event-stream-version", "0", "--event-stream-output-path", str(events))
        command += ["--filter", "^(" + "|".join(prefixes(self.tests, every)) + ")"]
        if self.tier != "unit":
            command.append("--no-parallel")
        begin = time.monotonic()
        with log.open("w") as output:
            # setpriv: the process ends even if this one is killed.
            isolated = ["setpriv", "--pdeathsig", "KILL"] + (ISOLATED if is_root() else [])
            status = watch(isolated + command, output, events)
        self.seconds = time.monotonic() - begin
        self.read(events, status)
        return self, log

    def read(self, events, status):
        """Sorts the tests by how they ended. A test that did not end counts as failed."""
        rest, began = {test.id for test in self.tests}, {}
        for event in lines_of(events):
            if event["kind"] != "event" or "testID" not in event["payload"]:
                continue
            event = event["payload"]
            identifier, now = plain(event["testID"]), event["instant"]["absolute"]
            if event["kind"] == "testStarted":
                began[identifier] = now
            if identifier not in rest or event["kind"] not in ("testEnded", "testSkipped"):
                continue
            rest.remove(identifier)
            self.suites[suite_of(identifier)] += now - began.get(identifier, now)
            ends_well = all(message["symbol"] != "fail" for message in event["messages"])
            kind = self.skipped if event["kind"] == "testSkipped" else self.passed if ends_well else self.failed
            kind.append(identifier)
        self.failed += sorted(rest)
        if rest:
            self.trouble = f"the process ended with {status} before these tests did: " + ", ".join(sorted(rest))
        elif status and not self.failed:
            self.trouble = f"the process ended with {status}"
            self.failed.append(self.name)


stopping = threading.Event()


def watch(command, output, events):
    """Runs a command to its end and returns its exit status, or an error text."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT,
                               start_new_session=True)
    last, size = time.monotonic(), 0
    while True:
        try:
            return process.wait(0.5)
        except subprocess.TimeoutExpired:
            now = events.stat().st_size if events.exists() else 0
            if now != size:
                last, size = time.monotonic(), now
            silent = time.monotonic() - last > SILENT_SECONDS
            if silent or stopping.is_set():
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return f"no report for {SILENT_SECONDS} s" if silent else "the run was stopped"


def is_root():
    return os.geteuid() == 0


def bundle(*arguments):
    found = sorted(BUILD.glob("*PackageTests.xctest"))
    if len(found) != 1:
        raise SystemExit(f"run-tests: {len(found)} test bundles in {BUILD}, one is needed; run: swift build --build-tests")
    return [str(found[0]), "--testing-library", "swift-testing", *arguments]


def lines_of(path):
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            yield json.loads(line)
        except ValueError:  # The process ended within the line.
            return


def plain(identifier):
    """The ID without its source location."""
    return re.sub(r"/[^/]+\.swift:\d+:\d+$", "", identifier)


def suite_of(identifier):
    return identifier.rpartition("/")[0] or identifier


def parts(identifier):
    module, _, rest = identifier.partition(".")
    return [module, *rest.split("/")]


def prefixes(tests, every):
    """The shortest regular expressions that match `tests` and nothing else of `every`."""
    counts, chosen = collections.Counter(), collections.Counter()
    for counter, members in (counts, every), (chosen, tests):
        for test in members:
            words = parts(test.id)
            counter.update(tuple(words[:depth]) for depth in range(1, len(words) + 1))
    found = set()
    for test in tests:
        words = parts(test.id)
        depth = next(depth for depth in range(1, len(words) + 1)
                     if counts[tuple(words[:depth])] == chosen[tuple(words[:depth])])
        found.add(re.escape(words[0]) + r"\." + "".join(re.escape(word) + "/" for word in words[1:depth]))
    return sorted(found)


def listed():
    """Every test of the bundle with its tier: that of the longest-running tag on it or on a suite around it."""
    # Tags are in the experimental version only; Swift 6.4 brings `--filter tag:NAME`.
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "tests")
        subprocess.run(bundle("--list-tests", "--event-stream-output-path", str(path),
                              "--experimental-event-stream-version", "99.0"), check=True, stdout=subprocess.DEVNULL)
        records = [line["payload"] for line in lines_of(path) if line["kind"] == "test"]
    tags = {plain(record["id"]): record.get("_tags", []) for record in records}
    tests, untagged = [], []
    for identifier in sorted(plain(record["id"]) for record in records if record["kind"] == "function"):
        own, around = [], identifier
        while around:
            own += tags.get(around, [])
            around = around.rpartition("/")[0]
        tiers = [tier for tier in TIERS if "." + tier in own]
        tests.append(Test(identifier, tiers[-1])) if tiers else untagged.append(identifier)
    if untagged:
        raise SystemExit("run-tests: tests without a tier; add .tags(.unit), .network, .load or .exhaustive to the suite:\n  "
                         + "\n  ".join(untagged))
    return tests


def planned(tests):
    """The groups of each tier, sorted by their last duration, longest first."""
    known = times().get("known", {})
    groups = collections.defaultdict(list)
    for test in tests:
        groups[test.tier, "all" if test.tier == "unit" else suite_of(test.id)].append(test)
    plan = [Group(tier, name, members) for (tier, name), members in groups.items()]
    plan.sort(key=lambda group: (-known.get(f"{group.tier} {group.name}", len(group.tests)), group.name))
    return {tier: [group for group in plan if group.tier == tier] for tier in TIERS}


def times():
    return json.loads(TIMES.read_text()) if TIMES.exists() else {}


def report(group, log):
    mark = "✘" if group.failed else "✔"
    tests = len(group.passed) + len(group.failed) + len(group.skipped)
    print(f"{mark} {group.tier:10} {group.seconds:6.1f} s {tests:4} tests  {group.name}", flush=True)
    if group.failed:
        print("".join(log.read_text(errors="replace").splitlines(True)[-LOG_LINES:]))
        for identifier in group.failed:
            print(f"✘ failed: {identifier}")
        if group.trouble:
            print(f"✘ {group.name}: error: {group.trouble}", flush=True)


def run(plan, every, jobs):
    """Runs a plan and returns the seconds that each tier took."""
    spent = {}
    printing = threading.Lock()

    def finish(group):
        result = group.run(every)
        with printing:
            if not stopping.is_set():
                report(*result)

    for tier, groups in plan.items():
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(jobs if tier == "network" else 1) as pool:
            try:
                for future in [pool.submit(finish, group) for group in groups]:
                    future.result()
            except BaseException:
                stopping.set()
                pool.shutdown(cancel_futures=True)
                raise
        if groups:
            spent[tier] = time.monotonic() - begin
    return spent


def keep(plan, spent, is_whole):
    """Saves the durations; those of a filtered run do not affect the order of the next run."""
    groups = [group for tier in plan.values() for group in tier]
    known = times().get("known", {})
    if is_whole:
        known.update({f"{group.tier} {group.name}": round(group.seconds, 1) for group in groups})
    suites = [(seconds, suite, group.tier) for group in groups for suite, seconds in group.suites.items()]
    last = {"tiers": {tier: round(seconds, 1) for tier, seconds in spent.items()},
            "suites": sorted(([round(seconds, 1), suite, tier] for seconds, suite, tier in suites), reverse=True)}
    part = TIMES.with_suffix(".part")
    part.write_text(json.dumps({"known": known, "last": last}))
    part.replace(TIMES)


def print_times():
    last = times().get("last")
    if last is None:
        raise SystemExit("run-tests: no times yet; run: make test")
    for tier, seconds in last["tiers"].items():
        inner = sum(suite[0] for suite in last["suites"] if suite[2] == tier)
        print(f"{tier:10} {seconds:7.1f} s by the clock, {inner:7.1f} s of tests")
    print("\nslowest suites:")
    for seconds, suite, tier in last["suites"][:30]:
        print(f"{seconds:7.1f} s  {tier:10}  {suite}")


def expression(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--filter", action="append", default=[], type=expression)
    parser.add_argument("--skip", action="append", default=[], type=expression)
    parser.add_argument("--jobs", type=int, choices=range(1, 65), metavar="1...64", default=2 * (os.cpu_count() or 1))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    if options.times:
        return print_times()

    every = listed()
    matching = [test for test in every
                if (not options.filter or any(word.search(test.id) for word in options.filter))
                and not any(word.search(test.id) for word in options.skip)]
    chosen = [test for test in matching if options.all or test.tier != "exhaustive"]
    plan = planned(chosen)
    if options.list:
        for test in sorted(chosen, key=lambda test: TIERS.index(test.tier)):
            print(f"{test.tier:10} {test.id}")
        return None
    lock = (ROOT / ".build/test-lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit("run-tests: another run is in progress in this checkout; wait for it to end")
    if LOGS.exists():
        shutil.rmtree(LOGS)
    LOGS.mkdir()
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    begin = time.monotonic()
    spent = run(plan, every, options.jobs if is_root() else 1)
    keep(plan, spent, not options.filter and not options.skip)
    groups = [group for tier in plan.values() for group in tier]
    passed, failed, skipped = (sum((getattr(group, kind) for group in groups), []) for kind in ("passed", "failed", "skipped"))
    print()
    for identifier in skipped:
        print(f"➜ skipped: {identifier}")
    for identifier in failed:
        print(f"✘ failed: {identifier}")
    for tier, seconds in spent.items():
        print(f"{tier:10} {sum(len(group.tests) for group in plan[tier]):5} tests {seconds:7.1f} s")
    if len(matching) > len(chosen):
        print(f"not run: {len(matching) - len(chosen)} exhaustive tests; make test-all runs them")
    if not passed and not failed:
        print("no test ran: that is a failure too")
    minutes, seconds = divmod(round(time.monotonic() - begin), 60)
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped in {minutes} min {seconds} s")
    strict = is_root() and os.environ.get("CI") == "true"
    return 1 if failed or not passed or strict and skipped else 0


sys.exit(main())
