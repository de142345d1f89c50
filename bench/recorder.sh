#!/bin/sh
# What recording and watching cost: recorder.sh PROGRAMS [RUNS]
#
# References a second and bytes of each, of `ls -lR /usr/share/doc`: lackey's own text into a file, a trace of the program alone, one of it
# and whatever it starts; the median of RUNS (3) and its extremes. Then what `--watch` takes of a CPU beside a process that uses 1 GiB
# again and again, and how much slower that becomes; the same of `--engine sample`, which also writes a trace.
set -eu
warmset=$1/warmset
runs=${2:-3}
scratch=$(mktemp -d)
busy=''
trap '[ -z "$busy" ] || kill "$busy"; rm -rf "$scratch"' EXIT
set -- ls -lR /usr/share/doc

median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f [%.2f, %.2f]", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
seconds() { # seconds COMMAND…
    from=$(date +%s%N)
    "$@" >/dev/null
    echo $((($(date +%s%N) - from) / 1000))
}
share() { awk -v n="$1" '{ printf "%.4f\n", n / $1 }'; }

echo "| how | M references/s | bytes of each |"
echo "|---|---|---|"
rm -f "$scratch/times"
for _ in $(seq "$runs"); do
    seconds valgrind --tool=lackey --basic-counts=no --trace-mem=yes --log-file="$scratch/lackey" "$@" >>"$scratch/times"
done
references=$(grep -c '^[I ][ LSM]' "$scratch/lackey")
printf '| lackey, text to a file | %s | %s |\n' "$(share "$references" <"$scratch/times" | median)" \
    "$(wc -c <"$scratch/lackey" | awk -v n="$references" '{ printf "%.2f", $1 / n }')"
for how in --alone ''; do
    rm -f "$scratch/times"
    for _ in $(seq "$runs"); do
        # shellcheck disable=SC2086
        "$warmset" trace $how --json --force -o "$scratch/it.parquet" -- "$@" | sed -n '/^{$/,$p' >"$scratch/said"
        sed -n 's/.*"references_per_second": \([0-9.]*\).*/\1/p' "$scratch/said" | awk '{ print $1 / 1e6 }' >>"$scratch/times"
    done
    printf '| warmset trace %s | %s | %s |\n' "$how" "$(median <"$scratch/times")" \
        "$(sed -n 's/.*"bytes_per_reference": \([0-9.]*\).*/\1/p' "$scratch/said")"
done

# A gibibyte, used page by page, round and round; prints how many rounds each second.
python3 - >"$scratch/rounds" <<'ROUNDS' &
import time
memory, step = bytearray(1 << 30), 4096
while True:
    began, rounds = time.monotonic(), 0
    while time.monotonic() - began < 1:
        memory[::step] = bytes(len(memory) // step)
        rounds += 1
    print(rounds, flush=True)
ROUNDS
busy=$!
sleep 12
tail -n 10 "$scratch/rounds" >"$scratch/before"
"$warmset" trace --watch --every '1 s' --for '10 s' --json "$busy" >"$scratch/watched"
tail -n 10 "$scratch/rounds" >"$scratch/during"
printf '\nwatched: %s MiB used of %s resident; looking took %s %% of a CPU; rounds a second %s without, %s with\n' \
    "$(sed 's/.*"working_set_bytes":\([0-9]*\).*/\1/' "$scratch/watched" | awk '{ print $1 / 1048576 }' | median)" \
    "$(sed 's/.*"resident_bytes":\([0-9]*\).*/\1/' "$scratch/watched" | awk '{ print $1 / 1048576 }' | median)" \
    "$(sed 's/.*"looking_share":\([0-9.e-]*\).*/\1/' "$scratch/watched" | awk '{ print $1 * 100 }' | median)" \
    "$(median <"$scratch/before")" "$(median <"$scratch/during")"

"$warmset" trace --engine sample --every '1 s' --for '30 s' --json --force -o "$scratch/it.parquet" "$busy" >"$scratch/sampled"
tail -n 20 "$scratch/rounds" >"$scratch/during"
printf 'sampled: %s uses of pages in 30 s, resolution %s, %s bytes; looking and writing took %s %% of a CPU; rounds a second %s with\n' \
    "$(sed -n 's/.*"references": \([0-9]*\).*/\1/p' "$scratch/sampled")" \
    "$(sed -n 's/.*"resolution": "\([^"]*\)".*/\1/p' "$scratch/sampled")" "$(wc -c <"$scratch/it.parquet")" \
    "$(sed -n 's/.*"looking_share": \([0-9.e-]*\).*/\1/p' "$scratch/sampled" | awk '{ print $1 * 100 }')" "$(median <"$scratch/during")"
