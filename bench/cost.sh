#!/bin/sh
# What the guard costs when idle, beside earlyoom in the same minutes: cost.sh WARMSETD [SECONDS] [RUNS]
#
# Prints a Markdown table: in the modes tune and protect, what protect has beside it to hold memory, and earlyoom, which
# watches the same machine at the same time; figures are read from /proc after 10 s of settling. Run as root, since all
# lock themselves in memory.
set -eu
warmsetd=$1
seconds=${2:-60}
runs=${3:-3}

command -v earlyoom >/dev/null 2>&1 || {
    echo "cost.sh: installing earlyoom, the peer to compare with" >&2
    apt-get install -y --no-install-recommends earlyoom >/dev/null
}
scratch=$(mktemp -d)
trap 'kill $guard $peer 2>/dev/null || true; rm -rf "$scratch"' EXIT
guard='' peer=''
columns='tune protect warmset-hold earlyoom'

# Sum of a field over all threads of a process.
cpu_us() { cat /proc/"$1"/task/*/schedstat | awk '{ns += $1} END {printf "%d", ns / 1000}'; }
switches() { cat /proc/"$1"/task/*/status | awk '/ctxt_switches/ {n += $2} END {printf "%d", n}'; }
resident() { awk '/^VmRSS/ {print $2}' /proc/"$1"/status; }
unshared() { awk '/^Private/ {n += $2} END {print n}' /proc/"$1"/smaps_rollup; }
descriptors() { find /proc/"$1"/fd -mindepth 1 | wc -l; }

measure() { # measure NAME PID: a line of figures to $scratch/NAME
    name=$1 pid=$2
    echo "$(cpu_us "$pid") $(switches "$pid") $(descriptors "$pid")" >"$scratch/$name.begin"
}
finish() {
    name=$1 pid=$2
    read -r cpu wakes files <"$scratch/$name.begin"
    echo "$(resident "$pid") $(unshared "$pid")" \
        "$((($(cpu_us "$pid") - cpu) / seconds))" \
        "$(awk -v n="$(($(switches "$pid") - wakes))" -v s="$seconds" 'BEGIN {printf "%.2f", n / s}')" \
        "$files $(descriptors "$pid")" >>"$scratch/$name"
}

watch() { # watch MODE OPTION [VALUE]: one run; earlyoom is measured beside tune
    mode=$1
    "$warmsetd" "--$2" ${3+"$3"} --state "$scratch/state" --run "$scratch/run" >"$scratch/log" 2>&1 &
    guard=$!
    earlyoom -r 3600 >"$scratch/peer-log" 2>&1 &
    peer=$!
    sleep 10
    case $mode in
    tune) watched="tune $guard earlyoom $peer" ;;
    *) watched="protect $guard warmset-hold $(pgrep -P "$guard" warmset-hold)" ;;
    esac
    # shellcheck disable=SC2086
    each measure $watched
    sleep "$seconds"
    # shellcheck disable=SC2086
    each finish $watched
    kill "$guard" "$peer"
    wait "$guard" "$peer" 2>/dev/null || true
}
each() { # each FUNCTION [NAME PID]...
    call=$1
    shift
    while [ $# -gt 1 ]; do
        "$call" "$1" "$2"
        shift 2
    done
}

for _ in $(seq "$runs"); do
    watch tune mode tune
    watch protect protect
done

spread() { # spread FILE COLUMN: min / median / max
    awk -v c="$2" '{print $c}' "$1" | sort -n | awk '{v[NR] = $1} END {print v[1] " / " v[int((NR + 1) / 2)] " / " v[NR]}'
}
echo "Linux $(uname -r), $(nproc) CPUs, $(awk '/^MemTotal/ {printf "%.1f", $2 / 1048576}' /proc/meminfo) GiB;" \
    "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown);" \
    "idle, $runs runs of $seconds s, both at once; min / median / max"
echo
echo "| | warmsetd, tune | warmsetd, protect | warmset-hold | earlyoom $(earlyoom -v 2>&1 | sed -n 's/^earlyoom v\{0,1\}\([0-9.]*\).*/\1/p' | head -n 1) |"
echo "|---|---|---|---|---|"
column=1
for row in "resident KiB" "of it not shared KiB" "CPU µs per second" "context switches per second" \
    "descriptors at begin" "descriptors at end"; do
    line="| $row |"
    for name in $columns; do
        line="$line $(spread "$scratch/$name" $column) |"
    done
    echo "$line"
    column=$((column + 1))
done
