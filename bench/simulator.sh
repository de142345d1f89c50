#!/bin/sh
# How fast the simulator is: simulator.sh PROGRAMS [RUNS]
#
# References of each policy in a second; the median of RUNS (5) and its extremes.
# The traces: Zipf's law with 20 million references to a million pages and room for 100,000, and the recorded program of
# fixtures/traces with room for a tenth.
# Whole processes beside libcachesim: beside.py. How all of it grows: growth.sh.
set -eu
cd "$(dirname "$0")/.."
warmset=$PWD/$1/warmset
runs=${2:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

zipf=$scratch/zipf.oracleGeneral program=fixtures/traces/ls-lackey-pages.u32.zst
"$warmset" synth zipf:pages=1000000,alpha=1 -n 20000000 -o "$zipf" >/dev/null

# median: of the numbers on its lines, with the least and the most.
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.3g [%.3g, %.3g]", v[int((NR + 1) / 2)], v[1], v[NR] }'; }

# speed TRACE CAPACITY POLICY: millions of references a second.
speed() {
    for _ in $(seq "$runs"); do
        "$warmset" simulate "$1" --jobs 1 --policy "$3" --capacity "$2" --json |
            sed 's/.*"references_per_second":\([0-9.e+]*\).*/\1/' | awk '{ print $1 / 1e6 }'
    done | median
}

echo '| policy | Zipf, M refs/s | program, M refs/s |'
echo '|---|---:|---:|'
for policy in fifo clock sieve lru s3fifo 2q arc lirs opt; do
    echo "| $policy | $(speed "$zipf" 100000 "$policy") | $(speed "$program" 10% "$policy") |"
done

# curve TRACE OPTIONS...: millions of references a second of a measure, without reading.
curve() {
    for _ in $(seq "$runs"); do
        "$warmset" curve "$@" --json | sed 's/.*"references_per_second":\([0-9.e+]*\).*/\1/' | awk '{ print $1 / 1e6 }'
    done | median
}

# reading: millions of references a second of a whole process, but for the policy.
reading() {
    for _ in $(seq "$runs"); do
        begin=$(date +%s%N)
        policy=$("$warmset" simulate "$zipf" --jobs 1 --policy fifo --capacity 100000 --json | sed 's/.*"seconds":\([0-9.e-]*\).*/\1/')
        echo "$(date +%s%N) $begin $policy" | awk '{ print 20 / (($1 - $2) / 1e9 - $3) }'
    done | median
}

echo
echo '| measure | Zipf, M refs/s | program, M refs/s |'
echo '|---|---:|---:|'
echo "| reading, with dense numbers | $(reading) | |"
echo "| LRU exactly at every size | $(curve "$zipf" --of lru) | $(curve "$program" --of lru) |"
echo "| LRU from 1 % of the pages | $(curve "$zipf" --of lru --sample 0.01) | |"
echo "| working set at every window | $(curve "$zipf" --of ws) | $(curve "$program" --of ws) |"
