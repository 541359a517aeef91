#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The interface towards clients is the one with the virtual address.
set -eu
# 00015A0A is 10.90.1.0 as /proc/net/route writes it.
interface=$(awk '$2 == "00015A0A" { print $1 }' /proc/net/route)
exec udp-fanout nat "${interface:?no interface towards clients}" -vs 10.90.1.10 \
	-rs 10.90.2.11 10.90.2.12 10.90.2.13 -p 5683 --routed --balance "$STRATEGY"
