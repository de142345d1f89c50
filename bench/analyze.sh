#!/bin/sh
# How long an analysis takes, and how much memory: analyze.sh PROGRAMS [MILLIONS]
#
# Of a recorded program of MILLIONS (100) of references: python3 at work, cut there. Needs time(1) as a program.
set -eu
warmset=$1/warmset
# The program itself: what stands in PATH may be a script that starts it.
python=$(python3 -c 'import sys; print(sys.executable)')
references=${2:-100}000000
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$warmset" trace --alone --references "$references" -o "$scratch/it.parquet" -- "$python" -c '
import json, re, collections
words = [f"{n * 7919 % 10007:05d}" for n in range(20000)]
while True:
    text = json.dumps(words)
    counted = collections.Counter(re.findall("[0-9]+", text))
    words.sort(key=lambda word: (counted[word], word[::-1]))
' >/dev/null
/usr/bin/time -f '%e s, %M KiB at most' "$warmset" analyze "$scratch/it.parquet" -o "$scratch/it.html"
