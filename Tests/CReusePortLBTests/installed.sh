#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# installed.sh   installs the library below a folder of its own, builds collector20.c against it by pkg-config
# alone, and lets two collectors receive. Then it uninstalls, and nothing must be left.
#
# MAKE, CC, CFLAGS, PKG_CONFIG, srcdir, pkgconfigdir, libdir come from Makefile.am.
set -u
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
stage=$root/stage
log=$root/log

bail() {
    sed 's/^/# /' "$log"
    echo "Bail out! $*"
    exit 1
}
[ "$(id -u)" -eq 0 ] || {
    echo "1..0 # SKIP NOT TESTED: only root can load the program; run make check as root"
    exit 0
}

"$MAKE" -f Makefile install "DESTDIR=$stage" >"$log" 2>&1 || bail "make install failed"

# Prefixes every path of the .pc file with the system root, as DESTDIR prefixes every file.
pkg_config() {
    PKG_CONFIG_SYSROOT_DIR=$stage PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
        PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
        PKG_CONFIG_PATH=$stage$pkgconfigdir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} \
        "$PKG_CONFIG" "$@"
}
flags=$(pkg_config --cflags --libs reuseportlb 2>"$log") || bail "pkg-config knows no reuseportlb"
version=$(pkg_config --modversion reuseportlb)
# shellcheck disable=SC2086  # flags are words
$CC $CFLAGS -o "$root/collector20" "$srcdir/Tests/CReusePortLBTests/collector20.c" $flags \
    >"$log" 2>&1 || bail "collector20.c does not build with $flags"
export LD_LIBRARY_PATH="$stage$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
./Tests/CReusePortLBTests/receives "$root/collector20" >"$root/tap" 2>&1
status=$?
# Its cases come first; the numbers of ours continue.
grep -v '^1\.\.' "$root/tap"
number=$(grep -cE '^(not )?ok ' "$root/tap")

is() {
    number=$((number + 1))
    if [ "$1" = "$2" ]; then
        echo "ok $number - $3"
    else
        echo "not ok $number - $3"
        echo "# is '$1', not '$2'" | sed '2,$s/^/# /'
    fi
}
is "$status" 0 "the collectors end as they should"
is "$version" "$VERSION" "pkg-config reports the version"
manual=$stage$mandir/man3/reuseport_lb.3
is "$(test -s "$manual" && echo installed)" installed "the manual page is installed"
"$MAKE" -f Makefile uninstall "DESTDIR=$stage" >"$log" 2>&1 || bail "make uninstall failed"
is "$(find "$stage" ! -type d)" "" "make uninstall leaves nothing behind"
echo "1..$number"
