#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# A unit that goes while it is contained, and thousands of processes that are gone before they are looked at.
unit batch.service
guard guard '[guard]
throttle-for = "60 s"'
(while :; do /lab/guest nothing; done) &
storm=$!
hog batch.service 60
within 300 is_not max "$units/batch.service/memory.high" || fail "it was not contained"
kill -KILL "$hog"
wait "$hog" 2>/dev/null
within 50 rmdir "$units/batch.service" || fail "the unit stays"
within 100 test ! -e "$home/run/undo" || fail "the log still has it: $(cat "$home/run/undo")"
unit batch.service
sleep 2
is max "$units/batch.service/memory.high" || fail "another unit of that name was touched"
guard_is_up || fail "the guard is gone"
alive "$storm" || fail "someone else was ended"
end_guard
all_is_back
say "the unit went, and the log with it; one of the same name was left alone"
