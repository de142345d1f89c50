#!/bin/sh
# What it costs to record a program: recording.sh PROGRAMS [RUNS] [NAME...]
#
# Of each program, RUNS (5) times one after the other: Valgrind alone (its tool none), lackey's text to a file, a trace by Warmset's
# own tool, which PROGRAMS/valgrind-VERSION has (valgrind/build PROGRAMS), QEMU alone, and a trace by Warmset's plugin for QEMU, which
# PROGRAMS/qemu has (qemu/build PROGRAMS). For each: processor time of all processes, user and system, as median, least and most. The
# same of one trace by lackey; bytes of a reference. Then the misses of LRU, FIFO and OPT of the traces at four sizes.
# It writes what docs/results/recording.md has. Needs valgrind, qemu-user, gcc and sqlite3 for all programs.
set -eu
cd "$(dirname "$0")/.."
tools=$(realpath "$1")/warmset-tools
runs=${2:-5}
shift
[ $# -eq 0 ] || shift
library=$(dirname "$tools")/$(valgrind --version)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ -d "$library" ] || {
    echo "recording: $library is missing: valgrind/build $(dirname "$tools")" >&2
    exit 1
}
[ -d "${library%/*}/qemu" ] || {
    echo "recording: ${library%/*}/qemu is missing: qemu/build $(dirname "$tools")" >&2
    exit 1
}
# The same for all, and in the same order: the environment is a part of a program's stack, and some programs search it.
if [ "${VALGRIND_LIB:-}" != "$library" ]; then
    rm -rf "$scratch"
    exec env -i PATH="$PATH" VALGRIND_LIB="$library" WARMSET_VALGRIND="${library%/*}" WARMSET_QEMU="${library%/*}" "$0" "${tools%/*}" "$runs" "$@"
fi

cat >"$scratch/small.c" <<'C'
#include <stddef.h>
struct list { struct list* next; int value; };
int sum(const struct list* list) { int all = 0; for (; list; list = list->next) all += list->value; return all; }
int main(void) { struct list one = { NULL, 1 }, two = { &one, 2 }; return sum(&two) - 3; }
C
cat >"$scratch/static.c" <<'C'
#include <stdlib.h>
#include <string.h>
static unsigned numbers[1 << 18];
static int less(const void* a, const void* b) { return *(const unsigned*)a < *(const unsigned*)b ? -1 : 1; }
int main(void)
{
   unsigned seed = 1, i;
   for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
      numbers[i] = seed = seed * 1664525u + 1013904223u;
   qsort(numbers, 5000, sizeof *numbers, less);
   for (i = 1; i < 50000; i++)
      numbers[numbers[i] >> 14] += i;
   return numbers[7] == 0;
}
C

# The command of a program, word for word.
command_of() {
    case $1 in
    ls) printf '%s\n' ls -l /usr/share/doc ;;
    static) printf '%s\n' "$scratch/static" ;;
    cc1) printf '%s\n' "$(gcc -print-prog-name=cc1)" -quiet -O1 "$scratch/small.c" -o /dev/null ;;
    sqlite3) printf '%s\n' sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 400) select count(*), sum(a.i * b.i) from n a join (select i from n where i < 20) b' ;;
    *) echo "recording: there is no program $1" >&2 && exit 1 ;;
    esac
}

record() { # record ENGINE COMMAND...: the trace of "$name", what was said of it, and the processor time
    engine=$1
    shift
    /usr/bin/time -q -f '%U %S' -o "$scratch/time" "$tools" trace --engine "$engine" --force --json -o "$scratch/$name-$engine.parquet" \
        -- "$@" 2>/dev/null | sed -n '/^{$/,$p' >"$scratch/$engine.json"
    awk '{ print $1 + $2 }' "$scratch/time" >>"$scratch/$engine.seconds"
}
processor() { # processor FILE COMMAND...: adds seconds of user and system, of all processes
    to=$1
    shift
    /usr/bin/time -q -f '%U %S' -o "$scratch/time" "$@" >/dev/null 2>"$scratch/said" || true
    awk '{ print $1 + $2 }' "$scratch/time" >>"$to"
}
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f [%.2f, %.2f]", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
middle() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
field() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$2"; }

gcc -O1 -static -o "$scratch/static" "$scratch/static.c"
[ $# -gt 0 ] || set -- static ls sqlite3 cc1
names=$*

echo "| program | M references | Valgrind alone | lackey's text | trace by lackey | trace by uses | lackey's text / uses | QEMU alone | trace by qemu | lackey's text / qemu | bytes by lackey | bytes by uses | bytes by qemu |"
echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
for name in $names; do
    rm -f "$scratch"/*.seconds
    command_of "$name" >"$scratch/words"
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$scratch/words"
    for _ in $(seq "$runs"); do
        processor "$scratch/none.seconds" valgrind --tool=none -q "$@"
        processor "$scratch/text.seconds" valgrind --tool=lackey --basic-counts=no --trace-mem=yes --log-file="$scratch/text" "$@"
        rm -f "$scratch/text"
        record uses "$@"
        record qemu "$@"
        first=$1
        shift
        processor "$scratch/qemu-alone.seconds" "qemu-$(uname -m)" "$(command -v "$first")" "$@"
        set -- "$first" "$@"
    done
    record lackey "$@"
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$name" \
        "$(field references "$scratch/uses.json" | awk '{ printf "%.1f", $1 / 1e6 }')" \
        "$(median <"$scratch/none.seconds")" "$(median <"$scratch/text.seconds")" \
        "$(middle "$scratch/lackey.seconds")" "$(median <"$scratch/uses.seconds")" \
        "$(echo "$(middle "$scratch/text.seconds") $(middle "$scratch/uses.seconds")" | awk '{ printf "%.1f", $1 / $2 }')" \
        "$(median <"$scratch/qemu-alone.seconds")" "$(median <"$scratch/qemu.seconds")" \
        "$(echo "$(middle "$scratch/text.seconds") $(middle "$scratch/qemu.seconds")" | awk '{ printf "%.1f", $1 / $2 }')" \
        "$(field bytes_per_reference "$scratch/lackey.json" | awk '{ printf "%.3f", $1 }')" \
        "$(field bytes_per_reference "$scratch/uses.json" | awk '{ printf "%.3f", $1 }')" \
        "$(field bytes_per_reference "$scratch/qemu.json" | awk '{ printf "%.3f", $1 }')"
done

printf '\n| program | policy | pages | misses by lackey | misses by uses | difference, %% | misses by qemu | difference, %% |\n|---|---|---|---|---|---|---|---|\n'
for name in $names; do
    for policy in lru fifo opt; do
        for engine in lackey uses qemu; do
            "$tools" simulate --policy $policy --capacity 5%,10%,25%,50% --json "$scratch/$name-$engine.parquet" >"$scratch/$engine.misses" 2>/dev/null
        done
        python3 - "$name" "$policy" "$scratch/lackey.misses" "$scratch/uses.misses" "$scratch/qemu.misses" <<'MISSES'
import json
import sys

name, policy = sys.argv[1:3]
engines = ([json.loads(line) for line in open(path)] for path in sys.argv[3:])
for lackey, uses, qemu in zip(*engines, strict=True):
    misses = lackey["misses"]
    others = [f"{one['misses']} | {100 * (one['misses'] - misses) / misses:+.3f}" for one in (uses, qemu)]
    print(f"| {name} | {policy} | {lackey['capacity']} | {misses} | {' | '.join(others)} |")
MISSES
    done
done
