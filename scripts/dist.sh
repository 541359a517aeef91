#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# dist.sh [--source] [FOLDER]   packs the commit that is checked out into FOLDER (.build/dist): the source, what
#                               it is made of (SPDX), and the checksums of both; or the source alone
#
# The archive is git's of the commit: its files in order, with the commit's time and no owner, so that every
# checkout packs the same bytes. Uncommitted changes are left out.
set -euo pipefail
cd "$(dirname "$0")/.."

source_only=
[ "${1:-}" != --source ] || { source_only=yes && shift; }
folder=${1:-.build/dist}
name=udp-fanout-$(scripts/stamp.sh version)
ours() { git -c safe.directory='*' "$@"; }

case $(scripts/stamp.sh commit) in
*-dirty) echo "dist: what is not committed is left out" >&2 ;;
unknown) echo "dist: this is no git checkout, so there is no commit to pack" >&2 && exit 1 ;;
esac
mkdir -p "$folder"
ours -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD |
    gzip --no-name --best >"$folder/$name.tar.gz"
[ -z "$source_only" ] || exit 0

dependencies=$(mktemp)
trap 'rm -f "$dependencies"' EXIT
"${SWIFT:-swift}" package --ignore-lock show-dependencies --format json >"$dependencies"
scripts/sbom.py --dependencies "$dependencies" >"$folder/$name.spdx.json"

cd "$folder"
sha256sum "$name.tar.gz" "$name.spdx.json" | tee SHA256SUMS
