#!/bin/sh
# What Python adds to the Rust calls, as python.py says: python.sh [REFERENCES [RUNS]]
set -eu
cd "$(dirname "$0")/.."
cargo build --quiet --release --locked -p warmset-traces --example calls
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check ./python
"$scratch/venv/bin/python" bench/python.py "${CARGO_TARGET_DIR:-target}/release/examples/calls" "$@"
