#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh [SECONDS]   divides SECONDS among the fuzzers of Fuzz/datapath and that of Fuzz/config; with 0, the
#                     default, those of the datapath run the tracked inputs, in two seconds
#
# libFuzzer and the sanitizers are those of Swift's clang, so that nothing else must be installed. New inputs stay
# in .build/fuzz/corpus, also the one that stops a fuzzer: run .build/fuzz/NAME with it to reproduce the failure.
# After the fix add it to Fuzz/corpus with Fuzz/corpus.py.
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-0}
folder=.build/fuzz
tools=$(dirname "$(readlink -f "$(command -v "${SWIFT:-swift}")")")

case $seconds in
'' | *[!0-9]*)
    echo "usage: fuzz.sh [SECONDS]" >&2
    exit 2
    ;;
esac

# The seeds of a fuzzer: those of frames serve two.
seeds() {
    case $1 in
    frame | nat) echo Fuzz/corpus/frames ;;
    *) echo "Fuzz/corpus/$1" ;;
    esac
}

# lld, because Debian's gold prints a page of warnings when it links clang 21's sanitizers.
build() {
    "$tools/clang" -g -O1 -fuse-ld=lld -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=all -Wall -Wextra -Werror -D_GNU_SOURCE \
        -I bpf/include -I bpf/lib -idirafter "/usr/include/$(uname -m)-linux-gnu" \
        "Fuzz/datapath/$1.c" -o "$folder/$1"
}

build_config() {
    "${SWIFT:-swift}" build -c release --sanitize fuzzer --package-path Fuzz/config \
        --scratch-path .build/fuzz/swift
    cp .build/fuzz/swift/release/configfuzz "$folder/config"
    cp config.example.yaml "$folder/corpus/config/"
}

run() {
    name=$1
    shift
    if ! "$folder/$name" -artifact_prefix="$folder/$name-" -verbosity=0 "$@" \
        >"$folder/$name.log" 2>&1; then
        cat "$folder/$name.log" >&2
        echo "fuzz: $name FAILED" >&2
        exit 1
    fi
}

mkdir -p "$folder"
if [ "$seconds" -eq 0 ]; then
    for name in frame nat payload words; do
        build "$name"
        run "$name" -runs=0 "$(seeds "$name")"
        echo "fuzz: $name: every input of $(seeds "$name") passes"
    done
    exit
fi
for name in frame nat payload words config; do
    mkdir -p "$folder/corpus/$name"
    if [ "$name" = config ]; then build_config; else build "$name"; fi
    run "$name" -max_total_time=$((seconds / 5 + 1)) -max_len=4096 -print_final_stats=1 \
        "$folder/corpus/$name" "$(seeds "$name")"
    sed -n "s/^stat::number_of_executed_units: */fuzz: $name: nothing found; inputs tried: /p" \
        "$folder/$name.log"
done
