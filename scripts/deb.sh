#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# deb.sh [BINARIES [FOLDER]]   builds the Debian packages in FOLDER (.build/deb) from the executables that
#                              `make build` has put into BINARIES (.build/release)
#
# The script copies the files in git, with packaging/debian as debian/ and a changelog from CHANGELOG.md; then
# dpkg-buildpackage builds. An unreleased version is 0.1.0~TIME.COMMIT, which is lower than any later build and
# than the release. Times are the commit's, so that builds are reproducible.
set -euo pipefail
cd "$(dirname "$0")/.."

binaries=$(realpath "${1:-.build/release}")
folder=$(realpath -m "${2:-.build/deb}")
tree=$folder/tree
version=$(scripts/stamp.sh version)
commit=$(scripts/stamp.sh commit)
SOURCE_DATE_EPOCH=$(scripts/stamp.sh time)
export SOURCE_DATE_EPOCH
programs='udp-fanout collector publisher'

fail() {
    echo "deb: $*" >&2
    exit 1
}
for program in $programs; do
    [ -x "$binaries/$program" ] || fail "no $program in $binaries: run make build first"
done

sources() {
    if [ -e .git ]; then
        git -c safe.directory='*' ls-files -z --cached --others --exclude-standard
    else
        find . -path ./.build -prune -o -type f -print0
    fi
}

# changelog: the entries of this version in CHANGELOG.md, as dpkg wants them.
changelog() {
    local heading debian=$version
    heading=$(sed -n 's/^## //p' CHANGELOG.md | head -n 1)
    case $heading in
    "$version (unreleased)")
        debian=$version~$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).${commit:0:7}
        ;;
    "$version ("*) ;;
    *) fail "CHANGELOG.md begins with '$heading' and VERSION says $version" ;;
    esac
    printf 'udp-fanout (%s) unstable; urgency=medium\n\n' "$debian"
    awk '/^## / { section++ } section == 1 && !/^## / && NF { sub(/^- /, "* "); print "  " $0 }' CHANGELOG.md |
        fmt --split-only --width=79
    printf '\n -- %s  %s\n' "$(sed -n 's/^Maintainer: //p' packaging/debian/control)" \
        "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
}

# The licences and notices of the executables' components.
notices() {
    local checkout name
    for checkout in .build/checkouts/*/; do
        name=$(basename "$checkout")
        mkdir -p "$1/$name"
        find "$checkout" -maxdepth 1 -type f \( -iname 'LICENSE*' -o -iname 'NOTICE*' \) \
            -exec cp -t "$1/$name" {} +
        rmdir --ignore-fail-on-non-empty "$1/$name"
    done
}

rm -rf "$folder"
mkdir -p "$tree"
sources | while IFS= read -r -d '' file; do
    # A file that is deleted and not committed yet.
    [ ! -f "$file" ] || printf '%s\0' "$file"
done | xargs -0 cp --parents -t "$tree"
cp -r packaging/debian "$tree/debian"
changelog >"$tree/debian/changelog"
mkdir -p "$tree/.build/release" "$tree/debian/sbom"
for program in $programs; do cp "$binaries/$program" "$tree/.build/release/"; done
notices "$tree/debian/notices"

swift=${SWIFT:-swift}
"$swift" package --ignore-lock show-dependencies --format json >"$folder/dependencies.json"
for pair in udp-fanout:udp-fanout reuseportlb-tools:collector; do
    scripts/sbom.py --dependencies "$folder/dependencies.json" --swift "$swift" \
        --binary "$binaries/${pair#*:}" >"$tree/debian/sbom/${pair%:*}.spdx.json"
done

log=$folder/build.log
cd "$tree"
DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS:-}" \
    dpkg-buildpackage --build=binary --no-sign >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    fail "dpkg-buildpackage failed: $log"
}
cd "$folder"
rm -rf "$tree" dependencies.json
ls -- *.deb
