#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# An exempt process ends, and a hog gets its number.
unit batch.service
in_unit batch.service sleep 1000
exempt=$!
within 50 grep -q sleep "/proc/$exempt/comm" || fail "there is no process to exempt"
# The 22nd field, after a name without blanks.
start=$(cut -d ' ' -f 22 "/proc/$exempt/stat")
guard guard "[guard]
spare = [\"pid:$exempt@$start\"]"
kill -KILL "$exempt"
wait "$exempt" 2>/dev/null
tries=100
hog=0
while [ "$hog" != "$exempt" ]; do
    [ "$hog" = 0 ] || kill -KILL "$hog"
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "no process gets the number $exempt"
    # The next one is the number after it.
    echo $((exempt - 1)) >/proc/sys/kernel/ns_last_pid
    hog batch.service 60
done
[ "$(cut -d ' ' -f 22 "/proc/$hog/stat")" != "$start" ] || fail "the hog has the other's start time"
within 400 gone "$hog" || fail "the hog has the number of an exempt process, and lives"
said 'SIG[A-Z]* to' || fail "the kernel was first"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "a hog with the number of an exempt process, $exempt, was killed"
