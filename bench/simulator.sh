#!/bin/sh
# How fast the simulator is: simulator.sh PROGRAMS [RUNS]
#
# References of each policy in a second, and the CPU time of whole processes; the median of RUNS (5) and its extremes.
# The traces: Zipf's law with 20 million references to a million pages and room for 100,000, and the recorded program of
# fixtures/traces with room for a tenth.
# Where Python has libcachesim, it runs on the same file in between. How all of it grows: growth.sh.
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

# user CAPACITIES POLICY: seconds of CPU time in user mode, from the file in the page cache to the result, the start of the
# program included.
user() {
    python3 - "$warmset" simulate "$zipf" --policy "$2" --capacity "$1" <<'PYTHON'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)
PYTHON
}

# peer POLICY: the same by libcachesim at one size, without the start of Python; 0 where there is none.
peer() {
    if ! "$has_peer"; then echo 0; return; fi
    python3 - "$zipf" "$1" 100000 <<'PYTHON'
import resource, sys
import libcachesim as lcs
path, policy, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
reader = lcs.TraceReader(path, lcs.TraceType.ORACLE_GENERAL_TRACE, lcs.ReaderInitParam(ignore_obj_size=True))
cache = getattr(lcs, policy)(size)
start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
cache.process_trace(reader)
print(resource.getrusage(resource.RUSAGE_SELF).ru_utime - start)
PYTHON
}

# pairs CAPACITIES POLICY OTHER SIZES: ours, theirs, and how many times as fast ours is, run after run; theirs counts for so many
# sizes.
pairs() {
    for _ in $(seq "$runs"); do echo "$(user "$1" "$2") $(peer "$3") $4"; done >"$scratch/pairs"
    if ! "$has_peer"; then
        echo "$(cut -d' ' -f1 "$scratch/pairs" | median) | – | –"
        return
    fi
    echo "$(cut -d' ' -f1 "$scratch/pairs" | median) | $(cut -d' ' -f2 "$scratch/pairs" | median) | $(
        awk '{ print $2 * $3 / $1 }' "$scratch/pairs" | median)"
}

has_peer=false
python3 -c 'import libcachesim' 2>/dev/null && has_peer=true

echo '| policy | Zipf, M refs/s | program, M refs/s | whole process, Zipf, user s | libcachesim, user s | times as fast |'
echo '|---|---:|---:|---:|---:|---:|'
while read -r policy other; do
    echo "| $policy | $(speed "$zipf" 100000 "$policy") | $(speed "$program" 10% "$policy") | $(pairs 100000 "$policy" "$other" 1) |"
done <<'POLICIES'
fifo FIFO
clock Clock
sieve Sieve
lru LRU
s3fifo S3FIFO
2q TwoQ
arc ARC
lirs LIRS
opt Belady
POLICIES

echo "| lru, sixteen sizes, theirs one after the other | | | $(pairs "$(seq -s, 30000 30000 480000)" lru LRU 16) |"

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
