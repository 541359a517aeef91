#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-library.sh   builds, tests, packs and installs the C library as its users do, in a separate folder, so
# that the checkout stays unchanged. As root nothing is skipped.
#
# In order: a build beside the sources with every test; the tests under valgrind; a build with
# --enable-debug and the sanitizers with every test; the tarball, which is built, tested, installed and
# removed again (distcheck); a build in the tree, whose GNUmakefile passes targets on to Automake's.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/source
jobs=-j$(nproc)

say() { printf 'check-library: %s\n' "$*"; }

# Runs a step with its output in a file, which is shown when it fails.
step() {
    local what=$1 log=$work/log status
    shift
    # Not `if ! step`: in a condition bash would continue after an error inside a function.
    set +e
    (set -e && "$@") >"$log" 2>&1
    status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        grep -hE '^(FAIL|ERROR|# returned|Bail)' "$log" >&2 || true
        tail -n 60 "$log" >&2
        say "$what: FAILED" >&2
        exit 1
    fi
    # Automake's summary of the tests, in one line.
    local counts
    counts=$(sed -nE 's/^# (TOTAL|PASS|SKIP|FAIL|ERROR): +([0-9]+)$/\1 \2/p' "$log" |
        paste -sd, | sed 's/,/, /g')
    say "$what: passed${counts:+ ($counts)}"
    if [ "$(id -u)" -eq 0 ] && grep -qE '^# SKIP: +[1-9]' "$log"; then
        grep -E '^SKIP' "$log" >&2
        say "$what: skipped tests, though root runs them" >&2
        exit 1
    fi
}

# The sources in git, with uncommitted changes.
copy_sources() {
    mkdir "$source"
    git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do
            if [ -f "$file" ]; then
                printf '%s\0' "$file"
            fi
        done | xargs -0 cp --parents -t "$source"
}

configure_in() {
    mkdir "$1" && cd "$1" && shift && "$source/configure" "$@"
}
in_folder() {
    cd "$1" && shift && "$@"
}

# Without a configure run, the message says what to run; help still works.
front_unconfigured() {
    cd "$source"
    ! make check 2>"$work/said" || return 1
    grep -F 'run ./bootstrap && ./configure first' "$work/said"
    make help | grep '^build '
}

# A private network and BPF file system, as the tests of the bindings expect.
privately() {
    unshare --mount --net sh -c 'ip link set lo up && mount -t bpf bpf /sys/fs/bpf && exec "$@"' sh "$@"
}

# The installed library from C++, Go and Python.
bindings() {
    local usr=$work/usr
    export PKG_CONFIG_PATH=$usr/pc LD_LIBRARY_PATH=$usr/lib GOCACHE=$work/go GOFLAGS=-mod=mod
    g++ -std=c++11 -Wall -Wextra -Werror -pedantic "$source/Tests/CReusePortLBTests/header.cpp" \
        -o "$work/header" $(pkg-config --cflags --libs reuseportlb)
    "$work/header"
    [ "$(id -u)" -eq 0 ] || return 0
    (cd "$source/bindings/go" && [ -z "$(gofmt -l .)" ] && go vet ./... &&
        privately go test -count=1 ./...)
    REUSEPORTLB_LIBRARY=$usr/lib/libreuseportlb.so.1 \
        unshare --mount --net /usr/bin/python3 -B "$source/bindings/python/test_reuseport_lb.py"
    pip_install "$source/bindings/python" "$work/pip"
}

# pip from the tree; without a network if setuptools is there.
pip_install() {
    /usr/bin/python3 -m pip install --quiet --no-build-isolation --no-deps --target "$2" "$1"
    [ -f "$2/reuseport_lb.py" ]
}

front_configured() {
    cd "$source"
    ./configure --prefix="$work/usr" --with-pkgconfigdir="$work/usr/pc"
    make "$jobs" CFLAGS=-O2
    make check TESTS=Tests/CReusePortLBTests/explain
    make install
    [ -f "$work/usr/pc/reuseportlb.pc" ]
    [ -e "$work/usr/lib/libreuseportlb.so" ]
    [ "$(PKG_CONFIG_PATH=$work/usr/pc pkg-config --modversion reuseportlb)" = "$1" ]
    (bindings)
    make uninstall
    [ -z "$(find "$work/usr" ! -type d)" ]
    make help | grep '^build '
    make clean
    [ ! -e libreuseportlb.la ]
    [ ! -e reuseport_object.c ]
    # .gitignore has all products of make, configure and bootstrap.
    make "$jobs"
    git init -q .
    git add .
    git ls-files >"$work/tracked"
    ! grep -vxF -f "$work/sources" "$work/tracked" || return 1
    make distclean
    [ ! -e Makefile ]
}

# Two builds of one source in two folders give the same bytes.
same_object() {
    cmp "$work/plain/reuseport_object.c" "$work/again/reuseport_object.c"
}

copy_sources
(cd "$source" && find . -type f | sed 's,^\./,,' | sort) >"$work/sources"
version=$(tr -d '"' <VERSION)

step 'make before configure' front_unconfigured
step bootstrap "$source/bootstrap"
step 'configure' configure_in "$work/plain" CFLAGS='-O2 -g -Werror'
step 'make check' in_folder "$work/plain" make "$jobs" check
step 'make check-valgrind' in_folder "$work/plain" make "$jobs" check-valgrind
step 'configure --enable-debug --enable-sanitizers' \
    configure_in "$work/sanitized" --enable-debug --enable-sanitizers CFLAGS='-O1 -g -Werror'
step 'make check with the sanitizers' in_folder "$work/sanitized" make "$jobs" check
step 'make distcheck' in_folder "$work/plain" make "$jobs" distcheck
step 'configure elsewhere' configure_in "$work/again"
step 'make elsewhere' in_folder "$work/again" make reuseport_object.c
step 'the same kernel program' same_object
step 'make in the tree' front_configured "$version"
say 'all passed'
