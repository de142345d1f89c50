#!/bin/sh
# Runs `cargo check` on the workspace and its tests with the oldest supported compiler, Debian 13's rustc 1.85: msrv.sh TARGET
#
# Where rustc is another one, that compiler is unpacked and not installed (packaging/debian-rust).
set -eu
cd "$(dirname "$0")/../.."
case $1 in
/*) target=$1 ;;
*) target=$PWD/$1 ;;
esac
# It is not run often enough to keep 554 MB to go on from.
export CARGO_INCREMENTAL=0
if rustc --version | grep -q '^rustc 1\.85\.'; then
    exec cargo check --workspace --all-targets --locked --target-dir "$target/msrv"
fi
packaging/debian-rust "$target/debian-rust" || {
    echo "SKIPPED: msrv: Debian 13's rustc is not to be had here" >&2
    exit 0
}
RUSTC=$target/debian-rust/rustc
export RUSTC
"$RUSTC" --version
exec "$target/debian-rust/cargo" check --workspace --all-targets --locked --target-dir "$target/msrv"
