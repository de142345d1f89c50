#!/bin/sh
# What LRU's exact curve and the fastest policies take, in two versions in turns: curves.sh [OTHER [RUNS [POWER]]]
#
# OTHER is the benchmark of another version, as `cargo bench -p warmset-workingset --bench curves --no-run` names it there;
# without it, or with '', this version runs alone. CPU seconds of all threads as median [minimum, maximum] of RUNS (5), the most
# memory beside the trace, and how many times as fast this version is, by pairs. The sums of both must agree. Traces: the recorded
# program of fixtures/traces; Zipf's law with 20 million references to a million pages; and 10^POWER (8) to a hundredth as many.
set -eu
cd "$(dirname "$0")/.."
other=${1:-}
runs=${2:-5}
power=${3:-8}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cargo bench --locked -p warmset-workingset --bench curves --no-run 2>"$scratch/built" || {
    cat "$scratch/built" >&2
    exit 1
}
# A copy, which no build meanwhile changes.
own=$scratch/curves
cp "$(sed -n 's/.*(\(.*curves-[0-9a-f]*\))$/\1/p' "$scratch/built")" "$own"
zstd -dqf fixtures/traces/ls-lackey-pages.u32.zst -o "$scratch/program.u32"

# row NAME TRACE WORK: a line of the table.
row() {
    for _ in $(seq "$runs"); do
        echo "$([ -z "$other" ] || "$other" "$2" 1 "$3") | $("$own" "$2" 1 "$3")"
    done >"$scratch/pairs"
    awk -F'|' -v name="$1, $3" '
        function told(values, count) { return sprintf("%.3g [%.3g, %.3g]", values[int((count + 1) / 2)], values[1], values[count]) }
        function sorted(values, count, at, place, value) {
            for (at = 2; at <= count; at++) {
                value = values[at]
                for (place = at - 1; place > 0 && values[place] > value; place--) values[place + 1] = values[place]
                values[place + 1] = value
            }
        }
        { is_pair = split($1, before, " ") > 0
          split($2, now, " ")
          if (is_pair && before[5] != now[5]) { print name ": the results differ"; failed = 1; exit }
          was[NR] = before[2] + 0; is[NR] = now[2] + 0
          if (is_pair) times[NR] = before[2] / now[2]
          was_mb = before[4]; is_mb = now[4] }
        END { if (failed) exit 1
          sorted(was, NR); sorted(is, NR); sorted(times, NR)
          if (is_pair) printf "| %s | %s | %s | %s | %s | %s |\n", name, told(was, NR), told(is, NR), told(times, NR), was_mb, is_mb
          else printf "| %s | – | %s | – | – | %s |\n", name, told(is, NR), is_mb }' "$scratch/pairs"
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
echo
echo '| trace, work | before, CPU s | now, CPU s | times as fast | before, MB | now, MB |'
echo '|---|---:|---:|---:|---:|---:|'
for work in curve lru@0.01 lru@0.1 lru@0.5 sieve@0.1 clock@0.1 fifo@0.1; do
    row program "$scratch/program.u32" "$work"
    row 'Zipf 2·10^7' zipf:1000000:20000000 "$work"
done
references=1$(printf '%0*d' "$power" 0)
for work in curve lru@0.1 sieve@0.1; do
    row "Zipf 10^$power" "zipf:$((references / 100)):$references" "$work"
done
echo
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
