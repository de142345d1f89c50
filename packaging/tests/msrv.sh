#!/bin/sh
# Runs `cargo check` on all that users build with the oldest supported compiler, Debian 13's rustc 1.85: msrv.sh TARGET
#
# Tests are left out: they are of this repository, and may use what is newer.
set -eu
cd "$(dirname "$0")/../.."
case $1 in
/*) target=$1 ;;
*) target=$PWD/$1 ;;
esac
packaging/debian-rust "$target/debian-rust" || {
    echo "SKIPPED: msrv: Debian 13's rustc is not to be had here" >&2
    exit 0
}
RUSTC=$target/debian-rust/rustc
export RUSTC
"$RUSTC" --version
exec "$target/debian-rust/cargo" check --workspace --locked --target-dir "$target/msrv"
