#!/bin/sh
# How time and memory grow with the trace: growth.sh PROGRAMS [POWER [DIRECTORY]]
#
# Zipf's law over a hundredth as many pages, 10^6 to 10^POWER references (8). Prints a Markdown table: seconds of CPU time in user
# mode and in the kernel, and the most memory of the whole process, for LRU with a tenth of the pages in memory, for LRU's curve
# from 10,000 pages followed, and for the exact curve in memory for the pages. One run each. The trace is one file in DIRECTORY, 4
# bytes a reference, removed afterwards: 10^9 needs 4 GB of it, the memory for that, and some ten minutes.
set -eu
warmset=$1/warmset-tools
power=${2:-8}
scratch=$(mktemp -d ${3+-p "$3"})
trap 'rm -rf "$scratch"' EXIT

# spent COMMAND...: CPU seconds of the whole process, and its most memory in MB.
spent() {
    python3 - "$@" <<'PYTHON'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.2f} s, {used.ru_maxrss / 1000:.0f} MB")
PYTHON
}

echo "Linux $(uname -r), $(nproc) CPUs, load $(cut -d ' ' -f 1 /proc/loadavg) at the begin; commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
echo
echo '| references, to a hundredth as many pages | LRU, a tenth of them in memory | LRU streaming, 10,000 pages followed | LRU streaming, exactly |'
echo '|---|---:|---:|---:|'
for exponent in $(seq 6 "$power"); do
    references=1$(printf '%0*d' "$exponent" 0)
    trace=$scratch/growth.u32
    "$warmset" synth "zipf:pages=$((references / 100)),alpha=1" -n "$references" --force -o "$trace" >/dev/null
    lru=$(spent "$warmset" simulate "$trace" -p lru -c 10%)
    followed=$(spent "$warmset" curve "$trace" --stream 10000)
    exactly=$(spent "$warmset" curve "$trace" --stream all)
    echo "| 10^$exponent | $lru | $followed | $exactly |"
done
echo
echo "load $(cut -d ' ' -f 1 /proc/loadavg) at the end"
