#!/bin/sh
# Tests `cargo install` of the commands from this checkout: install.sh TARGET
#
# It has the flags of packaging/compile, so that it reuses the build in TARGET and takes seconds.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
triple=$(rustc -vV | sed -n 's/^host: //p')
for crate in cli:guard tools:release; do
    RUSTFLAGS="${RUSTFLAGS:-} $(packaging/compile flags "${crate#*:}")" cargo install --quiet --locked --path "crates/${crate%:*}" --profile "${crate#*:}" --target "$triple" --root "$scratch" --target-dir "$1" 2>"$scratch/said" || {
        cat "$scratch/said" >&2
        exit 1
    }
done
[ "$(ls "$scratch/bin")" = "warmset
warmset-tools" ] || {
    echo "install.sh: cargo install must install warmset and warmset-tools and nothing else, but installed: $(ls "$scratch/bin")" >&2
    exit 1
}
"$scratch/bin/warmset" status --run "$scratch/run" --json >"$scratch/status.json"
grep -q '"guard": "absent"' "$scratch/status.json" || {
    echo "install.sh: the installed warmset does not report that no guard runs" >&2
    exit 1
}
"$scratch/bin/warmset" policies --json >"$scratch/policies.json"
grep -q '"lru"' "$scratch/policies.json" || {
    echo "install.sh: the installed warmset does not run the installed warmset-tools" >&2
    exit 1
}
echo "install: $("$scratch/bin/warmset" --version), by cargo install"
