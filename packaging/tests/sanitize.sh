#!/bin/sh
# Runs the tests of every crate with unsafe code under the address sanitizer: sanitize.sh TARGET
#
# It needs a nightly compiler, and builds these crates and all that they use once more. docs/results/trust.md says what it
# cannot see.
set -eu
cd "$(dirname "$0")/../.."
target=$1
cargo +nightly --version >/dev/null 2>&1 || {
    echo "SKIPPED: sanitize: there is no nightly compiler (rustup toolchain install nightly)" >&2
    exit 0
}
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
export RUSTFLAGS=-Zsanitizer=address
# Its checks are of one process, and leaks of one that is killed are none.
export ASAN_OPTIONS=detect_leaks=0
sanitized() { # sanitized ARGUMENTS OF CARGO TEST
    cargo +nightly test --locked --target "$host" --target-dir "$target/sanitize" "$@"
}
sanitized -p warmset-hold
# Not its library: tests that walk this process's mappings do not end, since the sanitizer has one of 20 TiB.
sanitized -p warmset-host --test ending
sanitized -p warmset-inspect --lib
sanitized -p warmset-vmlab --bins --test actors
