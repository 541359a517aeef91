#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-size.sh FOLDER   fails when a release program in FOLDER is larger, stripped, than it should be
#
# Full Foundation adds 34 MB of ICU data to a static program; nothing else here is that large. ArgumentParser adds
# FoundationEssentials; the smallest program then has 16 MB. collector serves metrics with SwiftNIO, 6 MB more.
set -eu

folder=$1
strip=$(dirname "$(readlink -f "$(command -v "${SWIFT:-swift}")")")/llvm-strip
command -v "$strip" >/dev/null || strip=strip
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT

check() {
    "$strip" -o "$stripped" "$folder/$1"
    bytes=$(wc -c <"$stripped")
    if [ "$bytes" -gt $(($2 * 1000000)) ]; then
        echo "check-size: $1 has $bytes bytes stripped, and $2 MB are the most" >&2
        exit 1
    fi
    echo "check-size: $1 has $bytes bytes stripped, of at most $2 MB"
}

check udp-fanout 40
check collector 25
check publisher 20
