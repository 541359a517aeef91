#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pack.sh system BUNDLE ARCHIVE    the root file system of every guest: the tests, what they call, busybox
# pack.sh kernel FOLDER ARCHIVE WORDS...
#                                  what one guest has besides: the modules of the kernel in FOLDER (as
#                                  fetch.sh leaves it), and WORDS for the tests' command line
#
# An ARCHIVE has the cpio format; the kernel unpacks several that are concatenated
# (Documentation/driver-api/early-userspace/buffer-format.rst).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)

fail() {
    printf 'kernels: %s\n' "$*" >&2
    exit 1
}

# The tools that the tests call. Only some suites need bpftool and ethtool.
tools='ip tc bpftool ethtool'

# The modules for the lab's networks and for clsact filters. Those that are built in, or that a kernel lacks, are
# left out.
modules='veth bridge stp sch_ingress cls_bpf act_bpf cls_u32 ipv6'

# A copy of a program at its own path, and of every library that it needs.
add_program() {
    ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) .*/\1/p' |
        while read -r library; do add_file "$library"; done
}

add_file() {
    [ ! -e "$root$1" ] || return 0
    mkdir -p "$root$(dirname "$1")"
    cp -L "$1" "$root$1"
    # Debugging information is most of their size. Scripts cannot be stripped.
    strip --strip-debug "$root$1" 2>/dev/null || true
}

pack_system() {
    bundle=$1
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    for folder in bin sbin dev proc sys etc tests tmp usr/bin usr/sbin var/tmp; do
        mkdir -p "$root/$folder"
    done
    cp "$here/init" "$root/init"
    echo 'root:x:0:0::/:/bin/sh' >"$root/etc/passwd"
    echo '127.0.0.1 localhost' >"$root/etc/hosts"
    busybox=$(command -v busybox) || fail "busybox is missing: scripts/setup.sh kernels"
    cp -L "$busybox" "$root/bin/busybox"
    for tool in $tools; do
        path=$(command -v "$tool") || fail "$tool is missing: scripts/setup.sh kernels"
        path=$(readlink -f "$path")
        add_program "$path"
        add_file "$path"
        ln -sf "$path" "$root/sbin/$tool"
    done
    add_program "$bundle"
    cp "$bundle" "$root/tests/tests"
    strip --strip-debug "$root/tests/tests"
    # Tests read the programs' sources at the path of the build.
    mkdir -p "$root$tree"
    cp -R "$tree/bpf" "$root$tree/bpf"
    archive "$2"
}

pack_kernel() {
    folder=$1
    target=$2
    shift 2
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mkdir -p "$root/tests" "$root/modules"
    for word; do echo "$word"; done >"$root/tests/words"
    : >"$root/modules/order"
    for module in $modules; do
        # For each module: `insmod FILE` for its dependencies and for itself, or `builtin NAME`.
        modprobe -d "$folder/modules" -S "$(cat "$folder/release")" \
            --show-depends --ignore-install "$module" 2>/dev/null || true
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' |
        while read -r file; do
            name=$(basename "$file" .xz)
            case $file in
            *.xz) xz -dc "$file" >"$root/modules/$name" ;;
            *) cp "$file" "$root/modules/$name" ;;
            esac
            echo "$name" >>"$root/modules/order"
        done
    archive "$target"
}

# In one step, so that another run does not find half of it.
archive() {
    (cd "$root" && find . -print0 | LC_ALL=C sort -z |
        cpio --quiet --null --create --format=newc --reproducible --owner=+0:+0) >"$1.new"
    mv "$1.new" "$1"
}

purpose=$1
shift
case $purpose in
system) pack_system "$@" ;;
kernel) pack_kernel "$@" ;;
*) fail "no such purpose: $purpose" ;;
esac
