#!/bin/sh
# Local and global replacement over real programs: local-replacement.sh PROGRAMS [DIRECTORY [MILLIONS]]
#
# The traces that working-sets.sh left in DIRECTORY, the first MILLIONS (10) of references of each, run together on one simulated CPU, device
# and memory under each manager, at falling memory. Writes docs/results/local-replacement.md.
set -eu
cd "$(dirname "$0")/.."
warmset=$PWD/$1/warmset
directory=${2:-/tmp/warmset-working-sets}
millions=${3:-10}
managers=lru,clock,linux,share,ws:1000000,ws:10000000,pff:100000,pff:1000000,token,up-largest,up-leftmost,up-rightmost,down-largest,down-leftmost,down-rightmost
command="warmset together ls.parquet --with cc1.parquet --with sqlite3.parquet --with python3.parquet --window 0..${millions}000000"
with=''
for name in cc1 sqlite3 python3; do with="$with --with $directory/$name.parquet"; done
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
# shellcheck disable=SC2086
"$warmset" together "$directory/ls.parquet" $with --window "0..${millions}000000" -m 90%,70%,60%,50%,40%,30%,20% -p "$managers" --json >"$rows"
page=docs/results/local-replacement.md
python3 bench/local-replacement.py "$rows" "$command -m 90%,70%,60%,50%,40%,30%,20% -p $managers" >"$page.new"
# The kernel's half is local-kernel.sh's.
sed -n '/^## On a real kernel/,$p' "$page" >>"$page.new"
mv "$page.new" "$page"
