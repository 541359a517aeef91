#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Answers datagrams on port 5683; clients are reached by way of the balancer.
set -eu
ip route add "$1" via "$2"
exec python3 /strategies/server.py
