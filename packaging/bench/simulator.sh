#!/bin/sh
# How fast the simulator is: simulator.sh PROGRAMS [RUNS [POWER]]
#
# References of each policy in a second, and the processor's time of whole processes; the median of RUNS (5) and its extremes.
# The traces: Zipf's law with 20 million references to a million pages and room for 100,000, and the recorded program of
# fixtures/traces with room for a tenth.
# Where Python has libcachesim, it runs on the same file in between. Growth is measured to 10^POWER references (8); 9 takes
# 12 GB of memory and 4 GB of disk.
set -eu
cd "$(dirname "$0")/../.."
warmset=$PWD/$1/warmset
runs=${2:-5}
power=${3:-8}
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

# user CAPACITIES POLICY: seconds of the processor in user mode, from the file in the page cache to the result, the start of the
# program included.
user() {
    for _ in $(seq "$runs"); do
        python3 - "$warmset" simulate "$zipf" --policy "$2" --capacity "$1" <<'PYTHON'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)
PYTHON
    done | median
}

# peer POLICY: the same by libcachesim at one size, without the start of Python.
peer() {
    python3 - "$zipf" "$1" 100000 "$runs" <<'PYTHON' 2>/dev/null | median || echo '–'
import resource, sys
import libcachesim as lcs
path, policy, size, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for _ in range(runs):
    reader = lcs.TraceReader(path, lcs.TraceType.ORACLE_GENERAL_TRACE, lcs.ReaderInitParam(ignore_obj_size=True))
    cache = getattr(lcs, policy)(size)
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    cache.process_trace(reader)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_utime - start)
PYTHON
}

# ratio OURS THEIRS [SIZES]: how many times as fast, for so many sizes of theirs.
ratio() {
    echo "${1%% *} ${2%% *} ${3:-1}" | awk '{ if ($1 > 0 && $2 > 0) printf "%.1f", $2 * $3 / $1; else print "–" }'
}

has_peer=false
python3 -c 'import libcachesim' 2>/dev/null && has_peer=true

echo '| policy | Zipf, M refs/s | program, M refs/s | whole process, Zipf, user s | libcachesim, user s | times as fast |'
echo '|---|---:|---:|---:|---:|---:|'
while read -r policy other; do
    theirs='–' ours=$(user 100000 "$policy")
    if "$has_peer"; then theirs=$(peer "$other"); fi
    echo "| $policy | $(speed "$zipf" 100000 "$policy") | $(speed "$program" 10% "$policy") | $ours | $theirs | $(ratio "$ours" "$theirs") |"
    [ "$policy" != lru ] || lru=$theirs
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

sixteen=$(seq -s, 30000 30000 480000)
ours=$(user "$sixteen" lru)
echo "| lru, sixteen sizes | | | $ours | $lru each | $(ratio "$ours" "$lru" 16) |"

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

# spent COMMAND...: seconds of the whole process, and its most memory in MB.
spent() {
    python3 - "$@" <<'PYTHON'
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
seconds = time.perf_counter() - start
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"{seconds:.2f} s, {most:.0f} MB")
PYTHON
}

echo
echo '| growth: references, to a hundredth as many pages | LRU, a tenth of them in memory | working set and VMIN at every window | LRU exactly at every size | LRU streaming, 10,000 pages followed |'
echo '|---|---:|---:|---:|---:|'
for exponent in $(seq 5 "$power"); do
    references=1$(printf '%0*d' "$exponent" 0)
    trace=$scratch/growth.u32
    "$warmset" synth "zipf:pages=$((references / 100)),alpha=1" -n "$references" -o "$trace" >/dev/null
    all='–'
    [ "$exponent" -gt 8 ] || all=$(spent "$warmset" curve "$trace" --of lru)
    echo "| 10^$exponent | $(spent "$warmset" simulate "$trace" -p lru -c 10%) | $(spent "$warmset" curve "$trace" --of ws,vmin) | $all | $(spent "$warmset" curve "$trace" --stream 10000) |"
done
