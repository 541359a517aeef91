#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# exported.sh   what the shared library exports and imports, by nm -D; and that configure's version is the one in
# VERSION, which the library is compiled with.
#
# NM, LIBRARY, VERSION, LIBBPF_LEAST, srcdir come from Makefile.am.
set -u
number=0
header=$srcdir/Sources/CReusePortLB/include/reuseport_lb.h

is() {
    number=$((number + 1))
    if [ "$1" = "$2" ]; then
        echo "ok $number - $3"
    else
        echo "not ok $number - $3"
        printf 'is:\n%s\nwanted:\n%s\n' "$1" "$2" | sed 's/^/# /'
    fi
}
[ -n "$NM" ] || {
    echo "Bail out! nm is missing: apt-get install binutils"
    exit 1
}

# shellcheck disable=SC2086  # NM may have a flag
symbols=$($NM -D "$LIBRARY") || {
    echo "Bail out! nm -D does not read $LIBRARY"
    exit 1
}
exported=$(printf '%s\n' "$symbols" | sed -n 's/^[0-9a-f]* [TDBRVWi] \([^@]*\).*/\1/p' | sort)
# A declaration begins in the first column with its type; comments do not.
declared=$(sed -n 's/^[a-z][a-z ]*[ *]\(rplb_[a-z_]*\)(.*/\1/p' "$header" | sort)
is "$exported" "$declared" "the library exports what the header declares, and nothing else"

# libbpf versions its symbols by the release that added them.
newest=$(printf '%s\n' "$symbols" | sed -n 's/.* U .*@LIBBPF_\(.*\)/\1/p' | sort -uV | tail -n 1)
least=$(printf '%s\n%s\n' "$newest" "$LIBBPF_LEAST" | sort -V | tail -n 1)
is "$least" "$LIBBPF_LEAST" "all used libbpf functions are in the version that configure requires"

# The library must not print, exit or touch signals.
unwanted=$(printf '%s\n' "$symbols" |
    sed -nE 's/.* U (_?exit|abort|v?f?printf|puts|perror|signal|sigaction|system)(@.*)?$/\1/p')
is "$unwanted" "" "the library does not print, exit or touch signals"

is "$(tr -d '"' <"$srcdir/VERSION")" "$VERSION" "configure's version is the one of the tree"
echo "1..$number"
