#!/bin/sh
# How fast the simulator is: simulator.sh PROGRAMS [RUNS [POWER]]
#
# References of each policy in a second, alone on one processor; the median of RUNS (5) and its extremes. The traces: Zipf's law with
# 20 million references to a million pages and room for 100,000, and the recorded program of fixtures/traces with room for a tenth.
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
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.1f [%.1f, %.1f]", v[int((NR + 1) / 2)], v[1], v[NR] }'; }

# speed TRACE CAPACITY POLICY: millions of references a second.
speed() {
    for _ in $(seq "$runs"); do
        "$warmset" simulate "$1" --jobs 1 --policy "$3" --capacity "$2" --json |
            sed 's/.*"references_per_second":\([0-9.e+]*\).*/\1/' | awk '{ print $1 / 1e6 }'
    done | median
}

# whole POLICY: millions of references a second from the file in the page cache to the result, the start of the program included.
whole() {
    for _ in $(seq "$runs"); do
        begin=$(date +%s%N)
        "$warmset" simulate "$zipf" --policy "$1" --capacity 100000 --json >/dev/null
        echo "$(date +%s%N) $begin" | awk '{ print 2e10 / ($1 - $2) }'
    done | median
}

# peer POLICY: the same by libcachesim, without the start of Python.
peer() {
    python3 - "$zipf" "$1" 100000 "$runs" <<'PYTHON' 2>/dev/null | median || echo '–'
import sys, time
import libcachesim as lcs
path, policy, size, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for _ in range(runs):
    reader = lcs.TraceReader(path, lcs.TraceType.ORACLE_GENERAL_TRACE, lcs.ReaderInitParam(ignore_obj_size=True))
    cache = getattr(lcs, policy)(size)
    start = time.perf_counter()
    cache.process_trace(reader)
    print(20 / (time.perf_counter() - start))
PYTHON
}

has_peer=false
python3 -c 'import libcachesim' 2>/dev/null && has_peer=true

echo '| policy | Zipf, M refs/s | program, M refs/s | whole process, Zipf | libcachesim, Zipf | times as fast, whole |'
echo '|---|---:|---:|---:|---:|---:|'
while read -r policy other; do
    theirs='–' times='–' ours=$(whole "$policy")
    if "$has_peer"; then
        theirs=$(peer "$other")
        times=$(echo "${ours%% *} ${theirs%% *}" | awk '{ if ($2 > 0) printf "%.0f", $1 / $2; else print "–" }')
    fi
    echo "| $policy | $(speed "$zipf" 100000 "$policy") | $(speed "$program" 10% "$policy") | $ours | $theirs | $times |"
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

# wall COMMAND...: seconds of the whole process.
wall() {
    for _ in $(seq "$runs"); do
        begin=$(date +%s%N)
        "$@" >/dev/null
        echo "$(date +%s%N) $begin" | awk '{ print ($1 - $2) / 1e9 }'
    done | median
}

echo
echo '| whole process, from the file in the page cache to the result | seconds |'
echo '|---|---:|'
echo "| LRU at one size, Zipf | $(wall "$warmset" simulate "$zipf" -p lru -c 100000) |"
echo "| LRU at sixteen sizes, Zipf | $(wall "$warmset" simulate "$zipf" -p lru -c 30000,60000,90000,120000,150000,180000,210000,240000,270000,300000,330000,360000,390000,420000,450000,480000) |"
echo "| LRU exactly at every size, Zipf | $(wall "$warmset" curve "$zipf" --of lru --json) |"
echo "| LRU from 1 % of the pages, Zipf | $(wall "$warmset" curve "$zipf" --of lru --sample 0.01 --json) |"
echo "| working set and VMIN at every window, Zipf | $(wall "$warmset" curve "$zipf" --of ws,vmin --json) |"
echo "| LRU exactly at every size, program | $(wall "$warmset" curve "$program" --of lru --json) |"

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
