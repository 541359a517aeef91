#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# test-kernels.sh [SERIES...]   runs the tests of the kernel programs on other kernels than this machine's
#
# Each SERIES, such as 6.1 or `newest`, is one of Debian's kernels (kernels/fetch.sh), which QEMU starts
# without KVM. The machine has a root file system of our own in memory (kernels/pack.sh, kernels/init), no
# disk and no network, and runs what `swift build --build-tests` made. Everything is below .build/kernels;
# after the first time it needs no network.
#
#   FILTER   which tests run, as `swift test --filter` takes it
#   BUNDLE   the tests, when they were not built in .build/debug
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/.build/kernels
limit=${LIMIT:-900} # seconds a kernel
filter=${FILTER:-'^(DatapathTests[.]|TCPlaneTests[.]KernelTests)'}
# Tests that take minutes on an emulated CPU and do not test the kernel: the parser outside of it, and forty
# thousand test runs for keys that FlowKeyProgramTests also compares with Swift's.
skip='^DatapathTests[.](BalanceTests/owners|PacketParserTests)'
[ $# -gt 0 ] || set -- 5.10 6.1 6.12 newest

fail() {
    printf 'kernels: %s\n' "$*" >&2
    exit 1
}

[ "$(uname -m)" = x86_64 ] || fail "the guests are x86_64, and so the tests have to be"
bundle=${BUNDLE:-$(find .build/debug/ -maxdepth 1 -name '*PackageTests.xctest' | head -n 1)}
[ -f "$bundle" ] || fail "there are no tests: swift build --build-tests"
for command in qemu-system-x86_64 busybox cpio depmod; do
    command -v "$command" >/dev/null || fail "$command is missing: scripts/setup.sh kernels"
done

# The log lines with results of whole tests.
results() { grep -E "^[^ ]+ +Test (\"|[A-Za-z_]+\().* $1" "$2" || true; }

# Starts the machine, which turns itself off, panics (which also ends QEMU), or is ended at the limit.
boot() {
    timeout "$limit" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off -smp 2 -m 3072 \
        -nodefaults -no-user-config -no-reboot -display none \
        -kernel "$1/vmlinuz" -initrd "$1/initramfs" \
        -append 'console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off random.trust_cpu=on' \
        -serial "file:$1/console.log" -serial "file:$1/tests.log" </dev/null
}

# Runs the tests on one kernel; false when one failed or did not end, or none ran.
run() {
    local here=$folder/$1 log=$folder/$1/tests.log started=$SECONDS ended=yes
    scripts/kernels/fetch.sh "$1" "$here" || return 1
    scripts/kernels/pack.sh kernel "$here" "$here/modules.cpio" \
        --testing-library swift-testing --no-parallel --filter "$filter" --skip "$skip" || return 1
    cat "$folder/system.cpio" "$here/modules.cpio" >"$here/initramfs"
    : >"$log"
    boot "$here" || ended=no
    rm -f "$here/initramfs" "$here/modules.cpio"
    grep -q '^guest: the tests passed' "$log" || ended=no

    local passed failed skipped
    passed=$(results 'passed after ' "$log" | wc -l)
    failed=$(results 'failed after ' "$log" | wc -l)
    skipped=$(results 'skipped' "$log" | wc -l)
    results 'skipped' "$log"
    grep -E ' (recorded an issue|failed after) ' "$log" || true
    if [ "$ended" = no ] && [ "$failed" -eq 0 ]; then
        echo "The tests did not come to their end. The last lines of both ports:"
        tail -n 12 "$here/console.log" "$log"
        failed=1
    fi
    [ "$passed" -gt 0 ] || echo "No test ran."
    printf 'Linux %s: %s passed, %s failed, %s skipped, in %s s (%s)\n' "$(cat "$here/release")" \
        "$passed" "$failed" "$skipped" "$((SECONDS - started))" "${log#"$PWD/"}"
    [ "$ended" = yes ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

mkdir -p "$folder"
scripts/kernels/pack.sh system "$bundle" "$folder/system.cpio"
bad=
for series; do
    printf '\n==> Linux %s\n' "$series"
    run "$series" || bad="$bad $series"
done
[ -z "$bad" ] || fail "failed on$bad"
