#!/bin/sh
# The long tables of docs/results, made anew: results.sh PROGRAMS [TABLE...]
#
# Each table is one command, printed above it, and takes an hour or less on two processors; one that was cut short goes
# on where it stopped. The lines are kept beside the tables.
set -eu
cd "$(dirname "$0")/../.."
lab=$PWD/$1/warmset-lab
shift
out=docs/results/lab
mkdir -p "$out"

# table NAME SCENARIO ARGUMENT...: one or more runs into one file.
table() {
    name=$1
    shift
    [ -z "$wanted" ] || case " $wanted " in *" $name "*) ;; *) return 0 ;; esac
    [ ! -f "$out/$name.jsonl.gz" ] || gunzip "$out/$name.jsonl.gz"
    echo "results: warmset-lab run $*" >&2
    "$lab" run "$@" --jobs 2 --out "$out/$name.jsonl" >/dev/null
    {
        printf '# %s\n\n    warmset-lab run %s --jobs 2\n\n' "$name" "$*"
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
table founding storm --arms none,static:1000,classic,warmset --reps 3 --kernel 6.1,7
# The other storms, once.
for storm in steady ramp periodic forks huge cgroup; do
    table "storm-$storm" "storm:$storm" --arms none,static:1000,classic,warmset --reps 1
done
table three-workers three-workers --arms none,earlyoom,nohang,warmset --reps 3 --lru mglru --swap disk
table three-workers-noise three-workers:noise --arms none,earlyoom,nohang,warmset --reps 1 --lru classic,mglru --swap none,zram
table three-workers-hot three-workers:hot-19 --arms none,earlyoom --reps 1 --lru mglru --swap disk
table indexed-db indexed-db --arms none,lock-index,scan,scan+lock-index --reps 3
for scan in file-cyclic file-once anon-cyclic anon-once; do
    table "scan-$scan" "scan:$scan" --arms none,warmset --reps 1 --lru classic,mglru --swap disk
done
table build build --arms none --reps 1 --swap disk --memory 1G,512M,384M,320M,288M,256M,224M,192M
