#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh [--ask] PURPOSE...   installs the Debian packages that a purpose needs
#
#   build, test, lint, bench, browser, docs, kernels: these also check the Swift toolchain
#   library, library-test   the C library
#   lab                     scripts/lab.sh
#   deb, packages           make deb, make test-packages
#
# With --ask and on a terminal it names the packages and asks before it installs them.
#
# It checks the machine each time, so that it finds removed packages; with nothing missing that takes two commands
# and a tenth of a second, and apt-get is not called. `make SETUP=no …` skips it, for a system with other package
# names.
set -eu

purposes='build|test|lint|bench|browser|docs|kernels|library|library-test|lab|deb|packages'
swift_wanted=6.3
swift_remedy="install Swift 6.3 (https://www.swift.org/install/linux/ or: swiftly install 6.3) and put it on PATH"

say() { printf 'setup: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

# The packages of each purpose, with reasons for the less obvious ones.
packages_for() {
    case $1 in
    build)
        echo libbpf-dev libelf-dev libmnl-dev libxdp-dev        # the kernel modes
        echo linux-libc-dev pkg-config                          # and what they build with
        echo libyaml-dev                                        # the configuration
        echo libc6-dev libstdc++-12-dev                                 # what swiftc links with
        echo git ca-certificates                                        # SwiftPM's dependencies
        ;;
    library)
        echo autoconf automake libtool pkg-config make  # ./bootstrap, ./configure, make
        echo gcc libc6-dev linux-libc-dev libbpf-dev
        echo clang llvm                                 # the kernel program; llvm-objcopy shrinks it
        ;;
    library-test)
        packages_for library
        echo golang-go g++ python3-pip python3-setuptools       # the bindings
        echo valgrind binutils git                      # git knows which files are sources
        ;;
    test)
        packages_for build
        packages_for library-test
        echo bpftool                            # reads pinned maps by name
        echo prometheus                         # promtool, which checks /metrics
        echo netcat-openbsd curl python3        # independent clients
        echo ethtool procps binutils
        echo dnsperf dnsmasq-base               # DNS through xdp_nat
        echo nfdump pmacct rsyslog softflowd bsdutils   # collectors and exporters
        echo systemd                            # systemd-analyze, which checks the units
        packages_for bench
        ;;
    bench)
        packages_for build
        echo iproute2 util-linux nftables       # the lab of veths
        ;;
    lab)
        echo iproute2 util-linux procps curl
        ;;
    deb)
        packages_for library
        echo debhelper dpkg-dev libelf-dev libmnl-dev libxdp-dev libyaml-dev
        echo python3 git                        # the list of components
        ;;
    packages)
        packages_for deb
        echo lintian mmdebstrap debian-archive-keyring
        echo iproute2 util-linux procps curl
        ;;
    browser)
        packages_for build
        echo chromium fonts-dejavu-core python3 # checks the status page
        ;;
    docs)
        packages_for build
        echo cmark-gfm python3                  # turns Markdown into HTML
        ;;
    lint)
        packages_for build
        echo clang-format
        ;;
    kernels)
        packages_for build
        echo qemu-system-x86                    # starts other kernels
        echo busybox-static cpio                # the rest of the guest's system
        echo kmod xz-utils                      # its modules, in loading order
        echo debian-archive-keyring             # verifies the kernels
        echo bpftool ethtool iproute2 binutils
        ;;
    *) fail "no such purpose: $1 ($purposes)" ;;
    esac
}

check_swift() {
    command -v swift >/dev/null || fail "swift is not on PATH: $swift_remedy"
    found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [ -n "$found" ] || fail "'swift --version' does not answer: $swift_remedy"
    oldest=$(printf '%s\n%s\n' "$swift_wanted" "$found" | sort -V | head -n 1)
    [ "$oldest" = "$swift_wanted" ] ||
        fail "Swift $found is too old, $swift_wanted is the least: $swift_remedy"
}

missing_of() {
    installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    for package in "$@"; do
        printf '%s\n' "$installed" | grep -Fqx "$package installed" || echo "$package"
    done
}

# Only promtool of the prometheus package is needed, no server on port 9090, now or after a boot. Debian's way is
# a policy-rc.d that forbids starts while apt-get runs; an existing one (as in containers) stays. The variable is
# for the script's own test.
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
forbid_starts() {
    [ ! -e "$policy" ] || return 0
    trap '$as_root rm -f "$policy"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
}

install_packages() {
    by_hand="install by hand: apt-get install --no-install-recommends $*"
    command -v apt-get >/dev/null || fail "missing: $*; there is no apt-get here, $by_hand"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "missing: $*; neither root nor sudo, $by_hand"
        as_root=sudo
    fi
    if [ "$ask" = yes ] && [ -t 0 ]; then
        printf 'setup: missing: %s\nsetup: install with apt-get? [Y/n] ' "$*" >&2
        read -r reply || reply=n
        case $reply in
        '' | [Yy]*) ;;
        *) fail "nothing is installed, $by_hand" ;;
        esac
    fi
    say "installing with apt-get: $*"
    forbid_starts
    $as_root apt-get update -q >&2 || fail "apt-get update failed, $by_hand"
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qy --no-install-recommends "$@" >&2 || fail "apt-get failed, $by_hand"
    case " $* " in
    *' prometheus '*) $as_root update-rc.d prometheus disable >&2 || true ;;
    esac
}

ask=no
if [ "${1:-}" = --ask ]; then
    ask=yes
    shift
fi
[ $# -gt 0 ] || fail "usage: setup.sh [--ask] $purposes ..."
needed=
for purpose; do
    case $purpose in
    library | library-test | lab | deb | packages) ;;
    *) check_swift ;;
    esac
    needed="$needed $(packages_for "$purpose")"
done
# shellcheck disable=SC2086  # package names are words
set -- $(printf '%s\n' $needed | sort -u)
command -v dpkg-query >/dev/null ||
    fail "this is not a Debian system; install what these hold and run make with SETUP=no: $*"
# shellcheck disable=SC2046
set -- $(missing_of "$@")
[ $# -eq 0 ] || install_packages "$@"
