#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check-packages.sh [DEBS]   tests the Debian packages in DEBS (.build/deb) as their users do: lintian, then, in a
#                            minimal Debian, the commands of docs/getting-started.md, verbatim; needs root
#
# mmdebstrap creates the Debian once (.build/packages/root.tar), and each run unpacks it again. apt-get uses this
# host's network; the daemon runs in its own network and process tree. systemctl is a script that follows the
# installed unit, because there is no systemd as process 1.
set -euo pipefail
cd "$(dirname "$0")/.."

debs=$(realpath "${1:-.build/deb}")
cache=$PWD/.build/packages
version=$(scripts/stamp.sh version)
# As --version shows it, without -dirty.
commit=$(scripts/stamp.sh commit | cut -c 1-12)

say() { printf 'check-packages: %s\n' "$*"; }
fail() {
    say "$*" >&2
    exit 1
}
[ "$(id -u)" -eq 0 ] || fail "needs root, for a root file system of its own"
for package in udp-fanout reuseportlb-tools libreuseportlb1 libreuseportlb-dev; do
    [ "$(find "$debs" -name "${package}_*.deb" | wc -l)" -eq 1 ] ||
        fail "not one ${package}_*.deb in $debs: run make deb first"
done

# ---- by themselves

lintian --fail-on error --allow-root "$debs"/*.deb || fail "lintian has found errors"
say 'lintian finds no error'

# ---- a Debian to try them in

mkdir -p "$cache"
if [ ! -f "$cache/root.tar" ]; then
    say 'making a minimal Debian, once'
    mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,pkg-config,iproute2,ca-certificates \
        bookworm "$cache/root.part.tar" >"$cache/root.log" 2>&1 || {
        tail -n 20 "$cache/root.log" >&2
        fail "mmdebstrap failed"
    }
    mv "$cache/root.part.tar" "$cache/root.tar"
fi
root=$(mktemp -d "$cache/root.XXXXXX")
newer=
# The package raises limits of the whole machine.
limits=$(sysctl net.core.rmem_max net.core.wmem_max)
leave() {
    rm -rf --one-file-system "$root" ${newer:+"$newer"}
    printf '%s\n' "$limits" | sysctl -q -p -
}
trap leave EXIT
tar -x -C "$root" -f "$cache/root.tar" --exclude='./dev/*'
cp /etc/resolv.conf "$root/etc/"
echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/99check"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
mkdir "$root/check"
cp "$debs"/*.deb Tests/CReusePortLBTests/collector20.c "$root/check/"

# systemctl enable --now UNIT | restart UNIT... | stop UNIT... | is-active UNIT | is-enabled UNIT |
# daemon-reload. An active unit is enabled. It logs commands that change something.
cat >"$root/usr/local/bin/systemctl" <<'END'
#!/bin/sh
set -eu
word=
units=
for argument; do
    case $argument in
    -*) ;;
    *) [ -n "$word" ] && units="$units ${argument%.service}" || word=$argument ;;
    esac
done
mkdir -p /run/udp-fanout
is_active() { kill -0 "$(cat "/run/$1.pid" 2>/dev/null || echo none)" 2>/dev/null; }
for unit in $units; do
    file=/lib/systemd/system/$unit.service
    [ -f "$file" ] || { echo "no unit $unit" >&2; exit 5; }
    case $word in
    is-active) is_active "$unit" && exit 0 || exit 3 ;;
    is-enabled) [ -f "/run/$unit.pid" ] && echo enabled && exit 0 || { echo disabled; exit 1; } ;;
    esac
    echo "$word $unit" >>/run/systemctl.log
    case $word in
    stop | restart)
        signal=
        [ "$word" = stop ] || signal=$(sed -n 's/^RestartKillSignal=SIG//p' "$file")
        ! is_active "$unit" || kill -s "${signal:-TERM}" "$(cat "/run/$unit.pid")"
        while is_active "$unit"; do sleep 0.1; done
        ;;
    esac
    case $word in stop) rm -f "/run/$unit.pid" ;; enable | restart)
        : >"/run/$unit.log"
        $(sed -n 's/^ExecStart=//p' "$file") >"/run/$unit.log" 2>&1 &
        echo $! >"/run/$unit.pid"
        await "/run/$unit.log" 'udp-fanout is running'
        ;;
    esac
done
END
# await FILE TEXT [COUNT]: waits until COUNT lines of FILE have TEXT.
cat >"$root/usr/local/bin/await" <<'END'
#!/bin/sh
timeout 120 sh -c 'until [ "$(grep -c -e "$2" "$1")" -ge "$3" ]; do sleep 0.1; done' sh "$1" "$2" "${3:-1}" && exit
cat "$1" >&2
exit 1
END
chmod +x "$root/usr/local/bin/systemctl" "$root/usr/local/bin/await"

# block NAME: the commands of docs/getting-started.md below its comment of that name.
block() {
    local commands
    commands=$(sed -n "/^<!-- check: $1 -->\$/,/^\`\`\`\$/p" docs/getting-started.md | sed '1,2d;$d')
    [ -n "$commands" ] || fail "docs/getting-started.md has no block '$1'"
    printf '%s\n' "$commands"
}

# inside network|alone: runs the commands on its standard input in the root.
inside() {
    local network=() log=$cache/log
    [ "$1" = network ] || network=(--net)
    unshare "${network[@]}" --mount --pid --fork --kill-child sh -euc '
        mount --make-rprivate /
        mount -t proc none "$1/proc"
        mount --rbind /dev "$1/dev"
        mount -t tmpfs none "$1/run"
        mount -t sysfs none "$1/sys" 2>/dev/null || mount --bind /sys "$1/sys"
        mount -t bpf none "$1/sys/fs/bpf"
        [ "$2" = network ] || ip link set lo up
        exec env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
            LC_ALL=C.UTF-8 chroot "$1" sh -eux -c "cd /check; $(cat)"' sh "$root" "$1" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        fail "this went wrong: $2"
    }
    say "$2"
}

# The files of the root, except those of apt and dpkg.
census() {
    find "$root" -xdev \( -path "$root/var/lib/dpkg" -o -path "$root/var/lib/apt" -o -path "$root/var/cache" -o \
        -path "$root/var/log" -o -path "$root/check" -o -path "$root/tmp" -o -path "$root/proc" \) -prune \
        -o -print | grep -v -e "^$root/etc/ld.so.cache" | sort
}

# The commands of the docs, with checks in between.
inside network 'apt-get has its lists' <<<'apt-get update -q'
census >"$cache/before"
inside network 'udp-fanout is installed from its .deb' <<<"$(block install)"
inside alone "it is version $version of commit $commit, with everything that belongs to it" <<END
case "\$(udp-fanout --version)" in '$version (commit $commit'*) ;; *) exit 1 ;; esac
for file in /lib/systemd/system/udp-fanout.service /lib/systemd/system/udp-fanout-tc.service \
    /lib/systemd/system/udp-fanout-xdp.service /usr/share/man/man1/udp-fanout.1.gz \
    /usr/share/bash-completion/completions/udp-fanout /usr/share/zsh/vendor-completions/_udp-fanout \
    /usr/share/fish/vendor_completions.d/udp-fanout.fish /usr/lib/sysctl.d/00-udp-fanout.conf \
    /usr/share/doc/udp-fanout/udp-fanout.spdx.json; do test -s \$file; done
test -d /etc/udp-fanout
test -z "\$(find /etc/systemd -name 'udp-fanout*')"
END
inside network 'so are the tools' <<<"$(block tools)"
inside alone 'ten datagrams reach both receivers of the example, by the commands of the page' <<END
$(block start)
$(block look)
set +x
exec 3>&1 4>&2 >/tmp/said 2>&1
$(block try | sed '/^publisher/i await /tmp/said 5515; await /tmp/said 5516')
wait
exec >&3 2>&4
set -x
test "\$(udp-fanout status | awk '\$1 ~ /^sink-/ { print \$5 }' | xargs)" = '5 5'
systemctl restart udp-fanout
systemctl stop udp-fanout
grep -q 'udp-fanout stopped' /run/udp-fanout.log
END
inside alone 'the drop-in for capabilities is where the page says' <<END
$(block capabilities)
grep -x 'PrivateUsers=no' /etc/systemd/system/udp-fanout.service.d/capabilities.conf
rm /etc/systemd/system/udp-fanout.service.d/capabilities.conf
rmdir -p --ignore-fail-on-non-empty /etc/systemd/system/udp-fanout.service.d
END
inside network 'the library is installed' <<<"$(block library)"
inside alone 'a C program compiles against it and receives' <<END
$(block compile)
./collector20 5600 0 1 >/tmp/received 2>/tmp/said & collector=\$!
await /tmp/said 'slot 0 receives'
publisher 127.0.0.1 5600 3 --rate 10
await /tmp/received '127.0.0.1: 14 bytes' 3
kill \$collector
END
# Every option of the tools is in their pages.
inside alone 'the manual pages of the tools have every option' <<'END'
for command in 'collector help receive' 'collector help create' 'publisher --help'; do
    $command | grep -oE '^ +--[a-z-]+' | grep -v -e --version -e --help | while read -r option; do
        zcat "/usr/share/man/man1/${command%% *}.1.gz" | sed 's/\\-/-/g' | grep -qe "$option"
    done
done
END

# A later version of the same package; the user has changed the configuration.
newer=$(mktemp -d "$cache/newer.XXXXXX")
rm "$root"/check/udp-fanout_*.deb
dpkg-deb -R "$debs"/udp-fanout_*.deb "$newer/tree"
sed -i 's/^Version: .*/&+1/' "$newer/tree/DEBIAN/control"
dpkg-deb -Zgzip -z1 -b "$newer/tree" "$root/check/udp-fanout_newer.deb" >/dev/null
echo '# mine' >>"$root/etc/udp-fanout/config.yaml"
inside network 'it is upgraded, and the configuration stays' <<END
$(block upgrade)
dpkg-query -W -f='\${Version}' udp-fanout | grep -q '+1\$'
grep -qx '# mine' /etc/udp-fanout/config.yaml
END
# In a kernel mode: nothing is detached, and the new daemon takes over the old one's program. The previous package
# is installed first, because an upgrade needs a lower version.
cp "$debs"/udp-fanout_*.deb "$root/check/udp-fanout_older.deb"
inside alone 'an upgrade in mode tc_ebpf leaves the program at its hook, and the new daemon takes it over' <<'END'
rm /usr/sbin/policy-rc.d
dpkg --force-downgrade -i udp-fanout_older.deb
ip link add eth0 type veth peer name eth1
ip address add 192.0.2.1/24 dev eth0
ip link set eth1 up
ip link set eth0 up
mv /etc/udp-fanout/config.yaml /etc/udp-fanout/config.mine
cat >/etc/udp-fanout/config.yaml <<'YAML'
listeners:
  - name: in
    bind: "192.0.2.1:5514"
    mode: tc_ebpf
    interface: eth0
    settings: {tc_attach: clsact}
    downstream: [{name: out, address: "192.0.2.9:5514"}]
YAML
systemctl enable --now udp-fanout-tc
grep -q 'replaced="false"' /run/udp-fanout-tc.log
( while tc filter show dev eth0 ingress | grep -q udp_fanout; do sleep 0.01; done; echo gone >/run/gap ) & watch=$!
mkdir -p /run/systemd/system
dpkg -i udp-fanout_newer.deb
test "$(tail -n 1 /run/systemctl.log)" = 'restart udp-fanout-tc'
grep -q 'replaced="true"' /run/udp-fanout-tc.log
test ! -e /run/gap
kill $watch
systemctl stop udp-fanout-tc
! tc filter show dev eth0 ingress | grep -q udp_fanout
# A policy that forbids restarts is respected, and a unit that does not run is left alone.
systemctl enable --now udp-fanout-tc
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
: >/run/systemctl.log
dpkg --force-downgrade -i udp-fanout_older.deb
dpkg -i udp-fanout_newer.deb
test ! -s /run/systemctl.log
systemctl stop udp-fanout-tc
mv /etc/udp-fanout/config.mine /etc/udp-fanout/config.yaml
END
rm "$root/check/udp-fanout_older.deb"
inside network 'purged' <<<"$(block uninstall)"
census >"$cache/after"
diff "$cache/before" "$cache/after" || fail "purge has left, or taken, what is above"
say 'purge leaves nothing'

# ---- from source: the targets exist; the packages themselves are built with them.
block source | while read -r make word; do
    [ "$make" = make ] && make --dry-run SETUP=no "$word" >/dev/null || fail "no such target: $make $word"
done
say 'all passed'
