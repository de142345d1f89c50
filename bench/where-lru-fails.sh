#!/bin/sh
# The wiki's page "where LRU fails", answered: where-lru-fails.sh PROGRAMS [BLOCK_TRACES]
#
# Writes docs/results/where-lru-fails.md and its pictures with the programs of that directory. Seeded: the same everywhere. In
# BLOCK_TRACES are OLTP.lis.zst of the ARC paper and cloudPhysicsIO.oracleGeneral.bin of libCacheSim, which carry no licence to be
# kept here; without it, their section is left as it was. Larger ones take NFU hours, which looks at all of memory at a miss.
set -eu
cd "$(dirname "$0")/.."
warmset=$PWD/$1/warmset
blocks=${2:-}
out=docs/results/where-lru-fails
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out"
[ ! -e "$out.md" ] || cp "$out.md" "$scratch/before.md"
page=$out.md
fixed=fifo,random,lru,clock,gclock,nfu,lfu,lru-k,2q,mq,arc,car,lirs,clockpro,sieve,s3fifo,wtinylfu,wsclock,linux,mglru,mglru:fd=1,opt

# table TRACE CAPACITY: every policy of fixed memory, best first, beside OPT.
table() {
    echo '| policy | misses | of references | beside OPT |'
    echo '|---|---:|---:|---:|'
    "$warmset" simulate "$1" --policy "$fixed" --capacity "$2" --csv | tail -n +2 | tr -d '"' | sort -t, -k5n |
        awk -F, '{ row[NR] = $0; if ($1 == "opt") best = $5 }
            END { for (at = 1; at <= NR; at++) { split(row[at], of, ","); mark = of[1] == "lru" ? "**" : ""
                printf "| %s%s%s | %d | %.1f %% | %.2f |\n", mark, of[1], mark, of[5], 100 * of[6], of[5] / best } }'
}

# block_traces: the section about requests to disks; as the page has it if there are no traces.
block_traces() {
    if [ -z "$blocks" ]; then
        echo "where-lru-fails: no block traces: their section stays" >&2
        sed -n '/^## Block traces/,/^On real traces/{/^On real traces/!p;}' "$scratch/before.md"
        return 0
    fi
    cat <<'TEXT'
## Block traces

The wiki names the traces of UMass (Financial1, WebSearch1, of the Storage Performance Council). Their server is the only place that has them, and it
was not to be reached when this page was made. Of the same kind, requests that reached a disk behind a cache: OLTP (a CODASYL database, one hour)
of the ARC paper (Megiddo and Modha, FAST 2003, table III), and one virtual machine of CloudPhysics (w106: Waldspurger et al.,
FAST 2015), as libCacheSim has it. Room for a tenth of their blocks. `warmset` reads the SPC format, too (`--format spc`).

TEXT
    for name in OLTP.lis.zst cloudPhysicsIO.oracleGeneral.bin; do
        echo "### $name"
        echo
        "$warmset" convert "$blocks/$name" "$scratch/block.u32" --force >/dev/null
        table "$scratch/block.u32" 10%
        echo
    done
}

# value TRACE CAPACITY POLICY: its misses in per cent of references.
value() {
    "$warmset" simulate "$1" --policy "$3" --capacity "$2" --csv | tail -n 1 | awk -F, '{ printf "%.1f %%", 100 * $6 }'
}

# picture TRACE NAME POLICIES: miss ratio by memory.
picture() {
    "$warmset" simulate "$1" --policy "$3" --capacity 1%,2%,5%,10%,20%,30%,40%,50%,60%,70%,80%,90%,100% \
        --plot "$out/$2.svg" --force --csv >/dev/null
    echo "![Miss ratio by memory: $2](where-lru-fails/$2.svg)"
}

# locked INDEX RECORDS CAPACITY: misses in per cent of references if the index is locked, by arithmetic.
locked() {
    awk -v index_pages="$1" -v records="$2" -v room="$3" 'BEGIN { printf "%.1f %%", 50 * (1 - (room - index_pages) / records) }'
}

wiki=$scratch/wiki.parquet
"$warmset" synth indexed-db:index=730,records=7300 -n 1000000 -o "$wiki" >/dev/null
db=$scratch/db.parquet cyclic=$scratch/cyclic.parquet once=$scratch/once.parquet
"$warmset" synth indexed-db:index=100,records=10000 -n 1000000 -o "$db" >/dev/null
"$warmset" synth scan:pages=1000 -n 1000000 -o "$cyclic" >/dev/null
"$warmset" synth scan:once=1,hot=200,share=0.5 -n 1000000 -o "$once" >/dev/null
few=lru,2q,arc,lirs,clockpro,linux,mglru,opt
{
    cat <<'TEXT'
# Where LRU fails

The Linux-MM wiki's page of that name, answered on traces: every policy's misses beside the optimum's. `bench/where-lru-fails.sh target/release`
makes this page; the traces are seeded, so it is the same on every machine. `warmset policies` says where each policy is from. One page is 4 KiB; a
miss is a page that was not in memory, the first use of each included.

## The indexed database

    warmset synth indexed-db:index=100,records=10000 -n 1000000 | warmset simulate - --capacity 101 --policy …

An index page and a record page in turn, both at random: 100 index pages, 10,000 record pages, 101 frames (O'Neil's example, on the wiki). Every lookup
needs an index page, so all 100 should stay and half of the references hit. LRU cannot see it: each index page is followed by a record page, and it keeps about as
many of the one as of the other.

TEXT
    table "$db" 101
    echo
    echo "LRU misses $(value "$db" 101 lru), the optimum $(value "$db" 101 opt); a policy that remembers what it evicted or counts uses comes near: MQ misses $(value "$db" 101 mq), LFU $(value "$db" 101 lfu)."
    echo
    picture "$db" indexed-database "$few"
    cat <<'TEXT'

## The indexed database in the wiki's proportions

    warmset synth indexed-db:index=730,records=7300 -n 1000000 | warmset simulate - --capacity 1000 --policy …

On the wiki's machine the index took 73 % of memory, and the records 7.3 times memory. Locking the index is one more fixed policy: the rest of memory
is for records, and nearly each of them misses.

TEXT
    table "$wiki" 1000
    echo
    echo "LRU misses $(value "$wiki" 1000 lru), Linux $(value "$wiki" 1000 linux), the optimum $(value "$wiki" 1000 opt). With the index locked half of the references hit, and of the others as many as there is memory left for: $(locked 730 7300 1000)."
    echo
    picture "$wiki" indexed-database-wiki "$few"
    cat <<'TEXT'

## A scan in a circle

    warmset synth scan:pages=1000 -n 1000000 | warmset simulate - --capacity 900 --policy …

A thousand pages read again and again, room for nine hundred. LRU always evicts the page that is needed soonest. The optimum keeps nine in ten.

TEXT
    table "$cyclic" 900
    echo
    echo "LRU, FIFO and CLOCK miss every time ($(value "$cyclic" 900 lru)); so does Linux: its refault distance asks whether the active list could have been smaller, and here nothing is active; LIRS misses $(value "$cyclic" 900 lirs), the optimum $(value "$cyclic" 900 opt)."
    echo
    picture "$cyclic" cyclic-scan "$few"
    cat <<'TEXT'

## A scan that comes once, beside a hot set

    warmset synth scan:once=1,hot=200,share=0.5 -n 1000000 | warmset simulate - --capacity 300 --policy …

Half of the references go to 200 hot pages, half to pages that never come back; room for 300. Half must miss. What a policy misses beyond that it lost
of the hot set.

TEXT
    table "$once" 300
    echo
    echo "Any policy that looks twice keeps the hot set: beyond the unavoidable half, LRU loses $(value "$once" 300 lru | awk '{ printf "%.1f", $1 - 50 }') points. Multi-Gen LRU puts a page that is mapped into its youngest generation, and loses as many; a page that is read by descriptor (\`fd=1\`) into its oldest: $(value "$once" 300 mglru:fd=1)."
    cat <<'TEXT'

## Real traces

Requests to a web page (`fixtures/traces/web07.trace.xz`, `web12.trace.xz`) with room for a tenth of their objects, and the pages of `ls -l /usr/bin`
(`ls-lackey-pages.u32.zst`, its first million references) with room for a tenth of its pages.

TEXT
    for name in web07.trace.xz web12.trace.xz ls-lackey-pages.u32.zst; do
        echo "### $name"
        echo
        if [ "$name" = ls-lackey-pages.u32.zst ]; then
            "$warmset" convert "fixtures/traces/$name" "$scratch/real.u32" --force --window 0..1000000 >/dev/null
        else
            "$warmset" convert "fixtures/traces/$name" "$scratch/real.u32" --force >/dev/null
        fi
        table "$scratch/real.u32" 10%
        echo
    done
    block_traces
    cat <<'TEXT'
On real traces the distance between LRU and the best is a few points, and the distance to the optimum larger than all of these: what is missing is not a
better list but knowledge of what comes.
TEXT
} >"$page"
echo "where-lru-fails: $page"
