#!/bin/sh
# docs/results/decisions.md, made anew: decisions.sh PROGRAMS
#
# Plays the situations with a table [vm] beside each guard, JOBS machines at once, 2 unless told; less than two hours on two
# CPUs with nothing else to do. One that was cut short goes on where it stopped. Needs root and `make lab`.
set -eu
cd "$(dirname "$0")/.."
lab=$PWD/$1/warmset-lab
lines=docs/results/lab/decisions.jsonl
page=docs/results/decisions.md

[ ! -f "$lines.gz" ] || gunzip "$lines.gz"
# A run that failed says so in the page; the others are still worth printing.
"$lab" decisions --jobs "${JOBS:-2}" --json "$lines" >/dev/null || echo "decisions: not all runs have a result" >&2
"$lab" decisions --table --json "$lines" | python3 bench/decisions.py "$lines" >"$page.new"
mv "$page.new" "$page"
gzip -9n "$lines"
