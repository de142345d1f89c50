#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# Who is spared ends, and a hog gets the number.
unit batch.service
in_unit batch.service sleep 1000
spared=$!
within 50 grep -q sleep "/proc/$spared/comm" || fail "there is nobody to spare"
# The 22nd field, after a name without blanks.
start=$(cut -d ' ' -f 22 "/proc/$spared/stat")
guard guard "[guard]
spare = [\"pid:$spared@$start\"]"
kill -KILL "$spared"
wait "$spared" 2>/dev/null
tries=100
hog=0
while [ "$hog" != "$spared" ]; do
    [ "$hog" = 0 ] || kill -KILL "$hog"
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || fail "no process gets the number $spared"
    # The next one is the number after it.
    echo $((spared - 1)) >/proc/sys/kernel/ns_last_pid
    hog batch.service 60
done
[ "$(cut -d ' ' -f 22 "/proc/$hog/stat")" != "$start" ] || fail "the hog started when the other did"
within 400 gone "$hog" || fail "it has the number of one who is spared, and lives"
said 'SIG[A-Z]* to' || fail "the kernel was first"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "a hog with the number of one who was spared, $spared, went"
