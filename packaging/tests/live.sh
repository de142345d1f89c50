#!/bin/sh
# Observes this machine for 10 s and checks that nothing is written: live.sh WARMSETD
#
# The summary must say "0 writes", and the knobs must have their values of before.
set -eu
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

knobs() { cat /proc/sys/vm/watermark_scale_factor /proc/sys/vm/watermark_boost_factor \
    /proc/sys/vm/compaction_proactiveness /proc/sys/vm/min_free_kbytes 2>/dev/null || true; }

before=$(knobs)
"$program" --observe --for 10s --live --state "$scratch/state" --run "$scratch/run" >"$scratch/out" 2>&1 || {
    status=$?
    cat "$scratch/out"
    echo "live.sh: the guard ended with status $status" >&2
    exit 1
}
cat "$scratch/out"
grep -qE '(^|[^0-9])0 writes' "$scratch/out" || {
    echo "live.sh: the summary does not say \"0 writes\"" >&2
    exit 1
}
[ "$before" = "$(knobs)" ] || {
    echo "live.sh: a knob has changed: $before -> $(knobs)" >&2
    exit 1
}
