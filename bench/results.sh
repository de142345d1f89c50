#!/bin/sh
# The long tables of docs/results, made anew: results.sh PROGRAMS [TABLE...]
#
# Each table is one command, printed above it, and takes an hour or less on two CPUs unless it says so; one that was cut short
# goes on where it stopped. The lines are kept beside the tables. JOBS machines at once, 2 unless told. The name `claims` stands
# for the tables of all claims about the packaged default; how long each took is said at its end.
set -eu
cd "$(dirname "$0")/.."
lab=$PWD/$1/warmset-lab
shift
out=docs/results/lab
jobs=${JOBS:-2}
mkdir -p "$out"

# wants NAME: whether this table is asked for; if so, what it has is unpacked, to go on from.
wants() {
    [ -z "$wanted" ] || case " $wanted " in *" $1 "*) ;; *) return 1 ;; esac
    [ ! -f "$out/$1.jsonl.gz" ] || gunzip "$out/$1.jsonl.gz"
}

# more NAME SCENARIO ARGUMENT...: runs, added to the lines.
more() {
    lines=$out/$1.jsonl
    shift
    echo "results: warmset-lab run $*" >&2
    case " $* " in
    *" --jobs "*) "$lab" run "$@" --out "$lines" >/dev/null ;;
    *) "$lab" run "$@" --jobs "$jobs" --out "$lines" >/dev/null ;;
    esac
}

# page NAME COMMANDS: what the lines say, under the commands that made them, one a line.
page() {
    name=$1
    echo "results: $name took $((($(date +%s) - begun) / 60)) min" >&2
    {
        printf '# %s\n\n' "$name"
        echo "$2" | sed -e "/ --jobs /!s/$/ --jobs $jobs/" -e 's/^/    warmset-lab run /'
        echo
        "$lab" compare "$out/$name.jsonl"
    } >"$out/$name.md"
    gzip -9n "$out/$name.jsonl"
}

# rows NAME <COMMANDS: each line the words of a run, all into one file.
rows() {
    wants "$1" || return 0
    table=$1 commands='' begun=$(date +%s)
    while read -r command; do
        # shellcheck disable=SC2086
        more "$table" $command </dev/null
        commands="$commands
$command"
    done
    page "$table" "${commands#?}"
}

# table NAME SCENARIO ARGUMENT...: one run into a file.
table() {
    name=$1
    shift
    echo "$*" | rows "$name"
}

# covering NAME ARGUMENT... <MACHINES: each line a scenario and the machine it runs on, once.
covering() {
    name=$1
    shift
    while read -r scenario kernel lru swap memory; do
        echo "$scenario $* --kernel $kernel --lru $lru --swap $swap --memory $memory"
    done | rows "$name"
}

claims="demonstration demonstration-sizes demonstration-patched livelock founding orders indexed-db indexed-db-wiki scan-file-cyclic scan-file-once scan-anon-cyclic scan-anon-once build"
wanted="$*"
[ "$wanted" != claims ] || wanted=$claims
# The headline: five repetitions on stock 6.12.
table storm-1g storm --arms none,static:1000,warmset --reps 5
table storm-2g storm --arms none,static:1000,warmset --reps 5 --memory 2G
# The same storm once on machines in which each pair of kernel, LRU, swap and memory occurs.
covering storm-covering --arms none,warmset --no-equal-mean --reps 1 <<'MACHINES'
storm 6.1 classic none 1G
storm 6.1 mglru disk 2G
storm 6.1 classic zram 2G
storm 6.12 mglru none 2G
storm 6.12 classic disk 1G
storm 6.12 mglru zram 1G
storm 7 classic none 2G
storm 7 mglru disk 1G
storm 7 classic zram 1G
MACHINES
table idle idle --arms none,warmset --reps 3
# The guards that a user would install instead, and the packaged default.
guards=none,earlyoom,nohang,protect
short="--warm-up 10 --load 60 --calm 10"
# Until a hog has filled some GiB under the translator.
long="--warm-up 10 --load 240 --calm 10"
# The founding demonstration: as its page has it, and harder; by what a user would install, and on machines of other sizes.
rows demonstration <<RUNS
three-workers:faithful --arms $guards,warmset --reps 3 --memory 256M --lru mglru --swap none $short
three-workers --arms $guards,warmset --reps 3 --memory 256M --lru mglru --swap none $short
RUNS
rows demonstration-sizes <<RUNS
three-workers --arms none,protect --reps 1 --memory 1G,2G,4G --cpus 2 --lru mglru --swap none $long
three-workers:faithful --arms none,protect --reps 1 --memory 1G --cpus 2 --lru mglru --swap none $long
RUNS
# The same on the kernel with our series: its floors alone, the daemon alone, and both.
patched=none,floors-1,protect,floors-1+protect
rows demonstration-patched <<RUNS
three-workers --kernel 6.12+series --arms $patched --reps 2 --memory 256M --lru mglru --swap none $short
three-workers:faithful --kernel 6.12+series --arms $patched --reps 2 --memory 256M --lru mglru --swap none $short
RUNS
# A machine that stands: le9uo's second claim.
table livelock livelock --arms $guards --reps 1 --kernel 6.1,6.12 --lru mglru,classic --memory 512M
# The founding table. The founding predictor looks each 30 s, so the load is ten minutes: two hours.
table founding storm --arms none,static:200,static:500,static:1000,classic,warmset --no-equal-mean --reps 1 --load 600 --kernel 6.1,6.12,7
# Blocks of order 3, 4 and 5.
table orders storm:orders --arms none,static:1000,warmset,protect --no-equal-mean --reps 2 --kernel 6.12 --jobs 4
# The other storms, once.
for storm in steady ramp periodic forks huge cgroup; do
    table "storm-$storm" "storm:$storm" --arms none,static:1000,warmset --reps 1
done
# As packaged, beside the guards that a user would install instead: the cell that the default made worse, each variant, and a storm.
rows packaged-default <<RUNS
three-workers --arms $guards,warmset --reps 3 --lru mglru --swap none --memory 192M $short
three-workers --arms $guards --reps 1 --lru classic --swap disk --memory 256M $short
three-workers:noise --arms $guards --reps 1 --lru mglru --swap zram --memory 256M $short
three-workers:hot-3 --arms $guards --reps 1 --lru classic --swap none --memory 256M $short
three-workers:hot-19 --arms $guards --reps 1 --lru mglru --swap disk --memory 256M $short
three-workers:units --arms $guards --reps 1 --lru classic --swap zram --memory 256M $short
three-workers:no-hog --arms $guards --reps 3 --lru mglru --swap none --memory 256M $short
storm --arms $guards --no-equal-mean --reps 2 --jobs 4
RUNS
# A runaway ended: both LRUs, without swap and with a disk for it; and loads in which nobody may be ended.
for lru in mglru classic; do
    for swap in none disk; do
        table "guard-$lru-$swap" three-workers --arms none,earlyoom,guard --reps 1 --lru "$lru" --swap "$swap" \
            --memory 256M --warm-up 10 --load 120 --calm 5
    done
done
table guard-build build --arms none,guard,protect --reps 1 --swap disk --memory 1G,192M
# What it costs where memory is plenty, on a host with nothing else to do.
table guard-rich build --arms none,guard --reps 2 --memory 1G
table guard-storm storm --arms none,guard,protect --reps 1
table guard-indexed-db indexed-db --arms none,guard,protect --reps 1 --memory 192M --warm-up 90
table guard-idle idle --arms none,guard,protect --reps 1
# Protection beside the guards that there are, in the same runs: the headline cells, five times.
small="--memory 256M --warm-up 10 --load 60 --calm 10"
headline="--lru mglru,classic --swap none,disk $small"
table three-workers-protect three-workers --arms none,earlyoom,nohang,guard,protect --reps 5 "$headline"
# All of the guard beside nothing, after a change of it.
table protect-again three-workers --arms none,protect --reps 2 "$headline"
# Both modes that kill beside nothing, after the guard's decisions were made anew.
table decisions-three-workers three-workers --arms none,guard,protect --reps 3 "$headline"
# The same without the hog: what this machine can do at best, beside what it does under protection.
rows three-workers-no-hog <<RUNS
three-workers:no-hog --arms none,protect --reps 3 $headline
three-workers --arms none,protect --reps 3 $headline
RUNS
# Every variant, each pair of it, kernel, LRU and swap once.
covering three-workers-covering --arms none,protect --reps 1 --warm-up 10 --load 60 --calm 10 <<'MACHINES'
three-workers 6.1 classic none 256M
three-workers 6.12 mglru disk 256M
three-workers 6.1 mglru zram 256M
three-workers:noise 6.12 mglru none 256M
three-workers:noise 6.1 classic disk 256M
three-workers:noise 6.12 classic zram 256M
three-workers:hot-3 6.1 mglru none 256M
three-workers:hot-3 6.12 classic disk 256M
three-workers:hot-3 6.12 mglru zram 256M
three-workers:hot-19 6.12 classic none 256M
three-workers:hot-19 6.1 mglru disk 256M
three-workers:hot-19 6.1 classic zram 256M
three-workers:units 6.12 mglru none 256M
three-workers:units 6.1 mglru disk 256M
three-workers:units 6.12 classic zram 256M
MACHINES
# The kernel series: the headline cells on 6.12 five times, and the daemon on it, beside either alone, three times; on 7.3 three
# times; and the kernel as it is without patches. Kept pages of before 2026-12 are of the series that had a second mode.
rows floors-6.12 <<RUNS
three-workers --kernel 6.12+series --arms none,floors-1,protect,floors-1+protect --reps 3 $headline
three-workers --kernel 6.12+series --arms none,floors-1 --reps 5 $headline
RUNS
table floors-7.3 three-workers --kernel 7.3+series --arms none,floors-1 --reps 3 "$headline"
table floors-plain three-workers --kernel 6.12+plain --arms none --reps 3 "$headline"
# Each hot file, in machines in which, with the headline's, each pair of it, LRU and swap occurs.
covering floors-covering --arms none,floors-1 --reps 1 --warm-up 10 --load 60 --calm 10 <<'MACHINES'
three-workers 6.12+series classic zram 256M
three-workers:hot-3 6.12+series mglru none 256M
three-workers:hot-3 6.12+series classic disk 256M
three-workers:hot-3 6.12+series classic zram 256M
three-workers:hot-19 6.12+series classic none 256M
three-workers:hot-19 6.12+series mglru disk 256M
three-workers:hot-19 6.12+series mglru zram 256M
MACHINES
# The hot file that 15 % does not hold, wherever anonymous memory may go: the daemon has to size the floor.
table floors-hot-19 three-workers:hot-19 --kernel 6.12+series --arms none,floors-1,floors-1+protect --reps 1 --lru mglru,classic \
    --swap none,disk,zram "$small"
# What protecting the hot file can do at best: all of it locked, beside floors and, where p90 is in question, no floors.
rows floors-locked <<RUNS
three-workers:hot-19 --kernel 6.12+series --arms floors-1,lock-hot --reps 2 --lru mglru,classic --swap none,disk,zram $small
three-workers:hot-3 --kernel 6.12+series --arms floors-1,lock-hot --reps 2 --lru mglru,classic --swap none,disk,zram $small
three-workers --kernel 7.3+series --arms none,floors-1,lock-hot --reps 2 $headline
three-workers --kernel 6.12+series --arms none,floors-1,lock-hot --reps 2 --lru mglru,classic --swap disk,zram $small
RUNS
# The host's speed changes from minute to minute: floors and no floors run side by side.
rows floors-build <<'RUNS'
build --kernel 6.12+series --arms none,floors-1 --reps 1 --swap disk --memory 1G
build --kernel 6.12+series --arms none,floors-1 --reps 1 --swap disk --memory 112M
RUNS
# A build that barely fits, and nowhere to swap to: a floor may kill the compiler.
table floors-build-none build --kernel 6.12+series --arms none,floors-1 --reps 3 --lru mglru,classic --swap none --memory 112M
# Each beside another: a machine that has the host for itself has other times.
rows floors-indexed-db <<'RUNS'
indexed-db --kernel 6.12+series --arms none,floors-1 --reps 3 --memory 192M --warm-up 90
RUNS
# The opt-in that moves swappiness, page-cluster and min_ttl_ms by what comes back, where there is swap for it to matter.
covering balance --arms none,balance --reps 1 --warm-up 10 --load 60 --calm 10 <<'MACHINES'
three-workers 6.12 mglru disk 256M
three-workers 6.12 classic zram 256M
scan:anon-cyclic 6.12 classic disk 256M
scan:anon-cyclic 6.12 mglru zram 256M
MACHINES
# Each worker in a unit of its own: a runaway that is contained first, and one that is not; floors besides.
table three-workers-units three-workers:units --arms none,uncontained,guard,protect --reps 1 --lru mglru --swap none \
    --memory 256M --warm-up 10 --load 60 --calm 10
# A machine so small that lookups fill it within the warm-up, under the translator too.
table indexed-db indexed-db --arms none,lock-index --reps 3 --memory 192M --warm-up 90
# The index as large beside memory as on the wiki's machine.
table indexed-db-wiki indexed-db:wiki --arms none,lock-index --reps 2 --memory 256M
table indexed-db-scan indexed-db --arms scan,scan+lock-index --reps 1 --memory 192M --warm-up 90
for scan in file-cyclic file-once anon-cyclic anon-once; do
    table "scan-$scan" "scan:$scan" --kernel 6.12+series --arms none,floors-1,protect --reps 1 --lru classic,mglru --swap disk --jobs 3
done
table build build --arms none --reps 1 --swap disk --memory 1G,384M,256M,224M,192M,160M,144M,128M,112M,104M,100M,96M
# Pressure down at the tightest memory, side by side: all are cut after a quarter of an hour, so what they did meanwhile is compared.
table local-112 build --arms none,local:watch,local:down-next,local:down-last --reps 1 --swap disk --memory 112M --jobs 4
