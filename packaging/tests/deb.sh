#!/bin/sh
# Installs the package in a clean Debian root, runs it, purges it, and compares the root with before: deb.sh TARGET
#
# The clean root is made once, as TARGET/deb-root.tar, from the mirror that apt uses here.
set -eu
cd "$(dirname "$0")/../.."
target=$1
deb=$(find "$target/debian" -name 'warmset_*.deb' | head -n 1)
tools=$(find "$target/debian" -name 'warmset-tools_*.deb' | head -n 1)
tar=$target/deb-root.tar

skip() {
    echo "SKIPPED: deb: $1" >&2
    exit 0
}
fail() {
    echo "deb.sh: $1" >&2
    exit 1
}

if [ -z "$deb" ] || [ -z "$tools" ]; then fail "no package in $target/debian: run make deb"; fi
[ "$(id -u)" = 0 ] || skip "a clean root needs root"
command -v mmdebstrap >/dev/null 2>&1 || skip "mmdebstrap is not installed"
# shellcheck disable=SC1091
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$suite" ] || skip "/etc/os-release has no VERSION_CODENAME"
unshare -m true 2>/dev/null || skip "no private mounts here (in a container)"

if [ ! -s "$tar" ]; then
    echo "deb: making a clean $suite root in $tar, once" >&2
    # Libraries that the programs link with are in the clean root from the start, as on any system.
    mmdebstrap --quiet --variant=minbase --include=init-system-helpers "$suite" "$tar.part.tar" >/dev/null 2>"$target/deb-root.log" || {
        tail -n 5 "$target/deb-root.log" >&2
        skip "mmdebstrap failed; see the lines above"
    }
    mv "$tar.part.tar" "$tar"
fi

scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
mkdir "$scratch/root"
tar -x -C "$scratch/root" -f "$tar" --exclude='./dev/*'
cp "$deb" "$scratch/warmset.deb"
cp "$tools" "$scratch/warmset-tools.deb"

# Every file of the root with its mode, owner and content, without dpkg's logs and caches, and the copies that groupadd keeps.
list() (
    cd "$scratch/root"
    kept() {
        find . -xdev \( -path ./proc -o -path ./dev -o -path ./sys -o -path ./tmp -o -path ./var/log \) -prune -o \
            ! -path './var/lib/dpkg/*-old' ! -path './var/lib/dpkg/lock*' ! -path './var/lib/dpkg/triggers/Lock' \
            ! -path './var/lib/dpkg/status' ! -path './etc/group-' ! -path './etc/gshadow-' "$@"
    }
    kept -printf '%p %y %m %u %l\n' | LC_ALL=C sort
    kept -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum
)

cat >"$scratch/inside" <<'INSIDE'
root=$1
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mkdir -p "$root/sys" && mount --rbind /sys "$root/sys" && mount --make-rslave "$root/sys"
mount -t tmpfs tmpfs "$root/tmp"
cp "$root/../warmset.deb" "$root/../warmset-tools.deb" "$root/tmp/"
run() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root" "$@"; }

run dpkg --install /tmp/warmset.deb
run sh -c 'warmset --version && warmsetd --version'
run warmsetd --observe --for 1s
# Each package works without the other.
code=0
run warmset policies 2>"$root/tmp/said" || code=$?
[ "$code" = 127 ] || { echo "warmset policies without warmset-tools ends with $code" >&2; exit 1; }
grep -q 'install the package warmset-tools' "$root/tmp/said"
run dpkg --install /tmp/warmset-tools.deb
run sh -c 'warmset policies && warmset-tools policies' >/dev/null
run dpkg --purge warmset-tools
# Files that a run leaves in its directories must be removed, too.
run sh -c 'mkdir -p /var/lib/warmset /run/warmset /etc/warmset/conf.d && touch /var/lib/warmset/a /run/warmset/b /etc/warmset/conf.d/c.toml'
run dpkg --verify warmset
[ -L "$root/etc/systemd/system/multi-user.target.wants/warmsetd.service" ] || { echo "warmsetd.service is not enabled" >&2; exit 1; }
[ -f "$root/etc/warmset/warmset.toml" ] || { echo "/etc/warmset/warmset.toml is not installed" >&2; exit 1; }
run dpkg --remove warmset
[ -f "$root/etc/warmset/warmset.toml" ] || { echo "dpkg --remove removed /etc/warmset/warmset.toml" >&2; exit 1; }
run dpkg --purge warmset
run sh -c '! dpkg --status warmset' 2>/dev/null
INSIDE

list >"$scratch/before"
unshare -m sh -eu "$scratch/inside" "$scratch/root"
list >"$scratch/after"
diff "$scratch/before" "$scratch/after" >&2 || fail "the root differs after the purge (above: < before, > after)"
echo "deb: installed, ran and purged; $(grep -c "^\./" "$scratch/after") files are as before"
