#!/bin/sh
# Runs `cargo check` on the workspace and its tests with the oldest supported compiler, Debian 13's rustc 1.85: msrv.sh TARGET
#
# The compiler is kept in TARGET/msrv-root and not installed. apt downloads its packages from the mirror that it uses here, checks
# their signatures, and keeps a package database of its own. They are unpacked, so that none of their scripts runs.
set -eu
cd "$(dirname "$0")/../.."
case $1 in
/*) target=$1 ;;
*) target=$PWD/$1 ;;
esac
root=$target/msrv-root
packages='base-files dash coreutils gcc libc6-dev rustc cargo'

skip() {
    echo "SKIPPED: msrv: $1" >&2
    exit 0
}

if rustc --version | grep -q '^rustc 1\.85\.'; then
    exec cargo check --workspace --all-targets --locked --target-dir "$target/msrv"
fi

# The URL of the Debian mirror that apt uses here.
mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
        sed -n 's/^URIs:[[:space:]]*\([^ ]*\).*/\1/p; s/^deb[[:space:]]\(\[[^]]*\][[:space:]]*\)\{0,1\}\([^ ]*\).*/\2/p' |
        grep -E '/debian/?$' | head -n 1
}

fetch() {
    apt=$target/msrv-apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/etc/preferences.d" "$apt/etc/apt.conf.d"
    : >"$apt/status"
    keys=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' | sort | head -n 1)
    [ -n "$keys" ] || skip "debian-archive-keyring is not installed"
    echo "deb [signed-by=$keys] $uri trixie main" >"$apt/sources.list"
    set -- -qq -o Dir::State="$apt" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status" \
        -o Dir::Cache="$apt/cache" -o Dir::Etc="$apt/etc" -o Dir::Etc::sourcelist="$apt/sources.list" \
        -o Dir::Etc::sourceparts=/nonexistent -o APT::Install-Recommends=false -o APT::Sandbox::User=root \
        -o APT::Architecture="$(dpkg --print-architecture)" -o Debug::NoLocking=true
    echo "msrv: downloading Debian 13's rustc and cargo into $root, once" >&2
    apt-get "$@" update || skip "Debian 13's package lists cannot be downloaded"
    # shellcheck disable=SC2086
    apt-get "$@" -y --download-only install $packages >/dev/null || skip "Debian 13's packages cannot be downloaded"
    archives=$apt/cache/archives
}

unpack() {
    rm -rf "$root" "$root.part"
    mkdir -p "$root.part/dev" "$root.part/tmp" "$root.part/usr/bin" "$root.part/usr/lib" "$root.part/usr/lib64" "$root.part/usr/sbin"
    # The links of the merged /usr must exist before packages are unpacked through them.
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$root.part/$name"; done
    for deb in "$archives"/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root.part" --no-same-owner --keep-directory-symlink; done
    ln -sf gcc "$root.part/usr/bin/cc"
    mv "$root.part" "$root"
    rm -rf "$apt"
}

if [ ! -x "$root/usr/bin/cargo" ]; then
    command -v apt-get >/dev/null 2>&1 || skip "apt-get is not installed, and rustc is not 1.85"
    uri=$(mirror)
    [ -n "$uri" ] || skip "apt uses no Debian mirror here"
    fetch
    unpack
fi

# Download all crates here: inside the root there is no network.
cargo fetch --locked --quiet
cargo_home=${CARGO_HOME:-$HOME/.cargo}
mkdir -p "$root/src" "$root/cargo" "$root/target" "$root/proc" "$target/msrv"

# The root gets this source, cargo's cache and a build directory by mounts that only this process sees. It has no rustup, so
# that rust-toolchain.toml has no effect there.
flags=-m
[ "$(id -u)" = 0 ] || flags=-rm
unshare $flags true 2>/dev/null || skip "no private mounts here (not root, or in a container)"
# shellcheck disable=SC2016
exec unshare $flags sh -euc '
    root=$1
    mount --bind "$2" "$root/src"
    mount --bind "$3" "$root/cargo"
    mount --bind "$4" "$root/target"
    mount --bind /dev "$root/dev"
    mount --rbind /proc "$root/proc"
    exec env -i PATH=/usr/bin:/usr/sbin HOME=/tmp CARGO_HOME=/cargo CARGO_TARGET_DIR=/target CARGO_NET_OFFLINE=true \
        chroot "$root" sh -euc "cd /src; cargo --version; rustc --version; exec cargo check --workspace --all-targets --locked"
' sh "$root" "$PWD" "$cargo_home" "$target/msrv"
