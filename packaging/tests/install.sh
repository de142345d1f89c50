#!/bin/sh
# `cargo install` of the command, from this checkout: install.sh TARGET
#
# What was built already is used again, so this takes seconds.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cargo install --quiet --locked --path crates/cli --root "$scratch" --target-dir "$1" 2>"$scratch/said" || {
    cat "$scratch/said" >&2
    exit 1
}
[ "$(find "$scratch/bin" -type f)" = "$scratch/bin/warmset" ] || {
    echo "install.sh: cargo install puts more than the command, or less: $(ls "$scratch/bin")" >&2
    exit 1
}
"$scratch/bin/warmset" status --run "$scratch/run" --json >"$scratch/status.json"
grep -q '"guard": "absent"' "$scratch/status.json" || {
    echo "install.sh: what was installed does not work" >&2
    exit 1
}
echo "install: $("$scratch/bin/warmset" --version), by cargo install"
