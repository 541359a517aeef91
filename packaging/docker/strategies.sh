#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the scenario of compose.yaml for each strategy; fails when a share is not as promised.
set -eu
cd "$(dirname "$0")"
for strategy in roundrobin random iphash; do
	echo "== $strategy"
	status=0
	STRATEGY=$strategy docker compose up --build --abort-on-container-exit \
		--exit-code-from client || status=$?
	STRATEGY=$strategy docker compose down --volumes
	[ "$status" -eq 0 ] || exit "$status"
done
echo "every strategy kept its promise"
