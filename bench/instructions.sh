#!/bin/sh
# How many instructions a reference costs: instructions.sh PROGRAMS [record]
#
# Counted by callgrind, so the same on a busy machine as on a quiet one, and compared with instructions.expected: more
# than 3 % above is a regression, and fails. Another compiler than the recorded one is told, not judged.
# `record` writes the expectations anew.
set -eu
cd "$(dirname "$0")/.."
warmset=$PWD/$1/warmset-tools
mode=${2:-compare}
expected=bench/instructions.expected
command -v valgrind >/dev/null 2>&1 || {
    echo "instructions: valgrind is missing: it counts; install the package valgrind" >&2
    exit 1
}
compiler=$(rustc --version | cut -d' ' -f1,2)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
zipf=$scratch/zipf.oracleGeneral
references=200000
"$warmset" synth zipf:pages=20000,alpha=1 -n "$references" -o "$zipf" >/dev/null

# count COMMAND...: instructions of the whole process.
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

# simulate POLICY SIZES: instructions of the whole process.
simulate() { count "$warmset" simulate "$zipf" --jobs 1 -p "$1" -c "$2"; }

# per_reference MORE LESS: what is between, by the reference.
per_reference() { echo "$1 $2 $references" | awk '{ printf "%.1f", ($1 - $2) / $3 }'; }

# each: a name and the instructions of a reference. What a second size adds is CLOCK; loading is what then remains, and a policy is
# what is more than that.
each() {
    load=$((2 * $(simulate clock 2000) - $(simulate clock 2000,2001)))
    echo "load $(per_reference "$load" 0)"
    for policy in fifo clock sieve lru s3fifo 2q arc lirs opt linux mglru; do
        echo "$policy $(per_reference "$(simulate "$policy" 2000)" "$load")"
    done
    for policy in lru fifo; do
        echo "$policy-16-sizes $(per_reference "$(simulate "$policy" "$(seq -s, 500 500 8000)")" "$load")"
    done
    for curve in lru ws; do
        echo "curve-$curve $(per_reference "$(RAYON_NUM_THREADS=1 count "$warmset" curve "$zipf" --of "$curve")" "$load")"
    done
}

if [ "$mode" = record ]; then
    { echo "# Instructions of a reference, by bench/instructions.sh record, with $compiler"; each; } >"$scratch/new"
    cp "$scratch/new" "$expected"
    exit
fi
grep -q "with $compiler\$" "$expected" || echo "instructions: recorded with another compiler than $compiler: not judged"
each | awk -v judged="$(grep -c "with $compiler\$" "$expected")" '
    NR == FNR { if ($1 != "#") was[$1] = $2; next }
    { more = was[$1] == 0 ? 0 : ($2 / was[$1] - 1) * 100
      worse = more > 3 && $2 - was[$1] > 0.5
      printf "%-12s %8.1f instructions a reference, recorded %8.1f%s\n", $1, $2, was[$1], worse ? "  MORE" : ""
      if (worse && judged) failed = 1 }
    END { exit failed }' "$expected" -
