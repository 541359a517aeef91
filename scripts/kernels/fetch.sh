#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh SERIES FOLDER   unpacks one of Debian's kernels into FOLDER, and installs nothing
#
# SERIES is the beginning of a version that Debian offers, such as 6.1, or `newest`. FOLDER then has
# vmlinuz, modules/ (as modprobe expects them below lib) and release (the output of `uname -r`). If it has them
# already, the script does not use the network.
#
# apt-get has its own state here: its indices are of Debian's releases, whatever the machine uses, and it
# checks their signatures. DEBIAN_MIRROR names another mirror.
set -eu

series=$1
folder=$2
mirror=${DEBIAN_MIRROR:-http://deb.debian.org}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
apt=$(dirname "$folder")/apt

say() { printf 'kernels: %s\n' "$*" >&2; }
fail() {
    say "$*"
    exit 1
}

[ ! -e "$folder/release" ] || exit 0

# Of Debian's two kinds of kernel this is the one for virtual machines: a third of the size.
flavour=cloud-amd64

with_apt() {
    command=$1
    shift
    "$command" -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" \
        -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Sandbox::User= \
        -o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

look_up() {
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/state/status"
    for suite in bullseye bookworm bookworm-backports trixie trixie-backports; do
        echo "deb [signed-by=$keys] $mirror/debian $suite main"
    done >"$apt/sources.list"
    for suite in bookworm-security trixie-security; do
        echo "deb [signed-by=$keys] $mirror/debian-security $suite main"
    done >>"$apt/sources.list"
    # A release that has left the mirror matters only for its own kernel.
    with_apt apt-get update -q >"$apt/log" 2>&1 ||
        say "not every index can be had ($apt/log); going on with the others"
    touch "$apt/looked-up"
}

# Update the indices at most once a day.
[ -n "$(find "$apt/looked-up" -mtime -1 2>/dev/null || true)" ] || look_up

# Escapes a text for a pattern.
literal() { printf '%s' "$1" | sed 's/[.+]/[&]/g'; }

case $series in
newest) pattern='[0-9]' ;;
*) pattern=$(literal "$series.") ;;
esac
release=$(with_apt apt-cache search --names-only "^linux-image-${pattern}[^ ]*-$flavour\$" |
    sed 's/^linux-image-\([^ ]*\) .*/\1/' | sort -V | tail -n 1)
[ -n "$release" ] || fail "Debian at $mirror has no kernel $series (its indices: $apt)"

# From 7.0 on a kernel comes in several packages.
packages=
for package in linux-image linux-binary linux-modules; do
    [ -z "$(with_apt apt-cache search --names-only "^$package-$(literal "$release")\$")" ] ||
        packages="$packages $package-$release"
done
say "getting Linux $release:$packages"
rm -rf "$folder"
mkdir -p "$folder/debs" "$folder/files"
# shellcheck disable=SC2086  # package names are words
(cd "$folder/debs" && with_apt apt-get download -q $packages) >>"$apt/log" 2>&1 ||
    fail "cannot get$packages: the end of $apt/log says why"
for deb in "$folder"/debs/*.deb; do dpkg-deb -x "$deb" "$folder/files"; done

# Debian 13 and later have everything below usr.
modules=$folder/files/lib/modules
[ -d "$modules" ] || modules=$folder/files/usr/lib/modules
image=$(find "$folder/files" -name "vmlinu[xz]*" -type f | head -n 1)
[ -n "$image" ] || fail "no image in$packages"
[ -d "$modules/$release" ] || fail "no modules in$packages"
mkdir -p "$folder/modules/lib"
mv "$image" "$folder/vmlinuz"
mv "$modules" "$folder/modules/lib/modules"
rm -rf "$folder/debs" "$folder/files"
# It warns of lists that some kernels lack and that are not used here.
depmod -b "$folder/modules" "$release" 2>>"$apt/log"
# Last: a folder with this file is complete.
echo "$release" >"$folder/release"
