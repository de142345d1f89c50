#!/bin/sh
# What the guard costs when idle, beside earlyoom and nohang in the same minutes: cost.sh WARMSETD [SECONDS] [RUNS] [MODES]
#
# Prints a Markdown table: in the modes tune and protect, what protect has beside it to hold memory, and earlyoom and nohang,
# which watch the same machine at the same time; figures are read from /proc after 10 s of settling. Run as root, since all
# lock themselves in memory. MODES is 'tune protect' or 'observe', for a machine that must not be changed. The peers are told
# to kill nothing: earlyoom by its dry run, nohang by thresholds of 1 %.
set -eu
warmsetd=$1
seconds=${2:-60}
runs=${3:-3}
modes=${4:-tune protect}

for peer in earlyoom nohang; do
    command -v $peer >/dev/null 2>&1 || {
        echo "cost.sh: installing $peer, to compare with" >&2
        apt-get install -y --no-install-recommends $peer >/dev/null
    }
done
scratch=$(mktemp -d)
trap 'kill $guard $peers 2>/dev/null || true; rm -rf "$scratch"' EXIT
guard='' peers=''
case $modes in
observe) columns='observe earlyoom nohang' ;;
*) columns='tune protect warmset-hold earlyoom nohang' ;;
esac
sed 's/^\(\(soft\|hard\)_threshold_\(min_mem\|min_swap\) *=\).*/\1 1 %/' /etc/nohang/nohang.conf >"$scratch/nohang.conf"

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

watch() { # watch MODE OPTION [VALUE]: one run; the peers are measured beside tune, or observe
    mode=$1
    "$warmsetd" "--$2" ${3+"$3"} --state "$scratch/state" --run "$scratch/run" >"$scratch/log" 2>&1 &
    guard=$!
    earlyoom --dryrun -r 3600 >"$scratch/earlyoom-log" 2>&1 &
    earlyoom=$!
    nohang --monitor --config "$scratch/nohang.conf" >"$scratch/nohang-log" 2>&1 &
    nohang=$!
    peers="$earlyoom $nohang"
    sleep 10
    case $mode in
    tune | observe) watched="$mode $guard earlyoom $earlyoom nohang $nohang" ;;
    *) watched="protect $guard warmset-hold $(pgrep -P "$guard" warmset-hold)" ;;
    esac
    # shellcheck disable=SC2086
    each measure $watched
    sleep "$seconds"
    # shellcheck disable=SC2086
    each finish $watched
    # shellcheck disable=SC2086
    kill "$guard" $peers
    # shellcheck disable=SC2086
    wait "$guard" $peers 2>/dev/null || true
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
    for mode in $modes; do
        watch "$mode" mode "$mode"
    done
done

spread() { # spread FILE COLUMN: min / median / max
    awk -v c="$2" '{print $c}' "$1" | sort -n | awk '{v[NR] = $1} END {print v[1] " / " v[int((NR + 1) / 2)] " / " v[NR]}'
}
# nohang does not know its own version.
version() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo '(version unknown)'; }
echo "Linux $(uname -r), $(nproc) CPUs, $(awk '/^MemTotal/ {printf "%.1f", $2 / 1048576}' /proc/meminfo) GiB;" \
    "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown); load $(cut -d' ' -f1 /proc/loadavg);" \
    "$runs runs of $seconds s, all at once; min / median / max"
echo
heading='| |'
rule='|---|'
for name in $columns; do
    case $name in
    earlyoom | nohang) name="$name $(version "$name")" ;;
    warmset-hold) ;;
    *) name="warmsetd, $name" ;;
    esac
    heading="$heading $name |"
    rule="$rule---|"
done
echo "$heading"
echo "$rule"
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
