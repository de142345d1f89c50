#!/bin/sh
# What LRU's exact curve and the fastest policies take, in two versions in turns: curves.sh [OTHER [RUNS [POWER]]]
#
# OTHER is the benchmark of another version, as `cargo bench -p warmset-workingset --bench curves --no-run` names it there;
# without it, or with '', this version runs alone. CPU seconds of all threads as median [minimum, maximum] of RUNS (5), the most
# memory beside the trace, and how many times as fast this version is, by pairs. The results of both must agree. Traces: the recorded
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

# rows NAME TRACE WORK…: a line of the table for each work.
rows() {
    name=$1
    trace=$2
    shift 2
    for _ in $(seq "$runs"); do
        [ -z "$other" ] || "$other" "$trace" 1 "$@" | sed 's/^/before /'
        "$own" "$trace" 1 "$@" | sed 's/^/now /'
    done >"$scratch/lines"
    awk -v name="$name" -v runs="$runs" '
        function told(value, many, at, place, kept) {
            for (at = 2; at <= runs; at++) {
                kept = value[many, at]
                for (place = at - 1; place > 0 && value[many, place] > kept; place--) value[many, place + 1] = value[many, place]
                value[many, place + 1] = kept
            }
            return sprintf("%.3g [%.3g, %.3g]", value[many, int((runs + 1) / 2)], value[many, 1], value[many, runs])
        }
        { if (!($2 in count)) works[++all] = $2
          count[$2] = count[$2] }
        $1 == "before" { is_pair = 1; was[$2, ++began[$2]] = $3; was_mb[$2] = $5; sum[$2] = $6 }
        $1 == "now" { run = ++count[$2]; is[$2, run] = $3; is_mb[$2] = $5
            if (is_pair) times[$2, run] = was[$2, run] / $3
            if (is_pair && sum[$2] != $6) { print name ", " $2 ": the results differ"; failed = 1 } }
        END { for (at = 1; at <= all; at++) {
            work = works[at]
            # Later works may use memory that earlier ones have given back.
            if (at > 1) was_mb[work] = is_mb[work] = "–"
            if (is_pair) printf "| %s, %s | %s | %s | %s | %s | %s |\n", name, work, told(was, work), told(is, work), told(times, work), was_mb[work], is_mb[work]
            else printf "| %s, %s | – | %s | – | – | %s |\n", name, work, told(is, work), is_mb[work] }
          exit failed }' "$scratch/lines"
}

echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
echo
echo '| trace, work | before, CPU s | now, CPU s | times as fast | before, MB | now, MB |'
echo '|---|---:|---:|---:|---:|---:|'
set -- curve lru@0.01 lru@0.1 lru@0.5 sieve@0.1 clock@0.1 fifo@0.1
rows program "$scratch/program.u32" "$@"
rows 'Zipf 2·10^7' zipf:1000000:20000000 "$@"
references=1$(printf '%0*d' "$power" 0)
rows "Zipf 10^$power" "zipf:$((references / 100)):$references" curve lru@0.1 sieve@0.1
echo
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
