#!/bin/sh
# The long tables of docs/results, made anew: results.sh PROGRAMS [TABLE...]
#
# Each table is one command, printed above it, and takes an hour or less on two processors; one that was cut short goes
# on where it stopped. The lines are kept beside the tables. JOBS machines at once, 2 unless told.
set -eu
cd "$(dirname "$0")/../.."
lab=$PWD/$1/warmset-lab
shift
out=docs/results/lab
jobs=${JOBS:-2}
mkdir -p "$out"

# table NAME SCENARIO ARGUMENT...: one or more runs into one file.
table() {
    name=$1
    shift
    [ -z "$wanted" ] || case " $wanted " in *" $name "*) ;; *) return 0 ;; esac
    [ ! -f "$out/$name.jsonl.gz" ] || gunzip "$out/$name.jsonl.gz"
    echo "results: warmset-lab run $*" >&2
    "$lab" run "$@" --jobs "$jobs" --out "$out/$name.jsonl" >/dev/null
    {
        printf '# %s\n\n    warmset-lab run %s --jobs %s\n\n' "$name" "$*" "$jobs"
        "$lab" compare "$out/$name.jsonl"
    } >"$out/$name.md"
    gzip -9n "$out/$name.jsonl"
}

wanted="$*"
# The headline: five repetitions on stock 6.12.
table storm-1g storm --arms none,static:1000,classic,warmset --reps 5
table storm-2g storm --arms none,static:1000,classic,warmset --reps 5 --memory 2G
table idle idle --arms none,classic,warmset --reps 3
# The founding table on the kernels before and after.
table founding storm --arms none,static:1000,classic,warmset --no-equal-mean --reps 3 --kernel 6.1,7
# The other storms, once.
for storm in steady ramp periodic forks huge cgroup; do
    table "storm-$storm" "storm:$storm" --arms none,static:1000,classic,warmset --reps 1
done
table three-workers three-workers --arms none,earlyoom,nohang,warmset --reps 3 --lru mglru --swap disk
# A runaway ended: both LRUs, without swap and with a disk for it; and loads in which nobody may be ended.
for lru in mglru classic; do
    for swap in none disk; do
        table "guard-$lru-$swap" three-workers --arms none,earlyoom,guard --reps 1 --lru "$lru" --swap "$swap" \
            --memory 256M --warm-up 10 --load 120 --calm 5
    done
done
table guard-build build --arms none,guard --reps 1 --swap disk --memory 1G,192M
table guard-storm storm --arms none,guard --reps 1
table guard-indexed-db indexed-db --arms none,guard --reps 1 --memory 192M --warm-up 90
table guard-idle idle --arms none,guard --reps 1
# Each pair of LRU and swap with each load once.
table three-workers-noise three-workers:noise --arms none,earlyoom --reps 1 --lru classic --swap zram
table three-workers-noise-none three-workers:noise --arms none,earlyoom --reps 1 --lru mglru --swap none
table three-workers-hot-19 three-workers:hot-19 --arms none,earlyoom --reps 1 --lru classic --swap disk
table three-workers-hot-3 three-workers:hot-3 --arms none,earlyoom --reps 1 --lru mglru --swap zram
# A machine so small that lookups fill it within the warm-up, under the translator too.
table indexed-db indexed-db --arms none,lock-index --reps 3 --memory 192M --warm-up 90
table indexed-db-scan indexed-db --arms scan,scan+lock-index --reps 1 --memory 192M --warm-up 90
for scan in file-cyclic file-once anon-cyclic anon-once; do
    table "scan-$scan" "scan:$scan" --arms none,warmset --reps 1 --lru classic,mglru --swap disk
done
table build build --arms none --reps 1 --swap disk --memory 1G,384M,256M,224M,192M,160M,144M,128M,112M,104M,100M,96M
