#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-userspace-only.sh BINARY   fails when BINARY needs a library of the kernel modes
#
# The default trait KernelModes adds libbpf and libmnl. A build without it must run where neither is installed.
set -eu

binary=$1
[ -x "$binary" ] || {
    echo "check-userspace-only: no program at $binary" >&2
    exit 1
}
needed=$(readelf --dynamic --wide "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
case $needed in
*libc.so*) ;;
*)
    echo "check-userspace-only: readelf names no libc for $binary, so it cannot be trusted" >&2
    exit 1
    ;;
esac
if printf '%s\n' "$needed" | grep -E '^lib(bpf|xdp|elf|mnl)\.'; then
    echo "check-userspace-only: $binary needs the libraries above" >&2
    exit 1
fi
echo "check-userspace-only: $binary needs none of libbpf, libxdp, libelf, libmnl"
