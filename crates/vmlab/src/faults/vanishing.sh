#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# A unit that goes while it is throttled, and thousands of processes that end before the guard can read about them.
unit batch.service
guard guard '[guard]
throttle-for = "60 s"'
(while :; do /lab/guest nothing; done) &
storm=$!
hog batch.service 60
within 300 is_not max "$units/batch.service/memory.high" || fail "it was not throttled"
kill -KILL "$hog"
wait "$hog" 2>/dev/null
within 50 rmdir "$units/batch.service" || fail "the unit stays"
within 100 test ! -e "$home/run/undo" || fail "the undo log still has it: $(cat "$home/run/undo")"
unit batch.service
sleep 2
is max "$units/batch.service/memory.high" || fail "another unit of that name was touched"
guard_is_up || fail "the guard is gone"
alive "$storm" || fail "a bystander was killed"
end_guard
all_is_back
say "the unit went, and its line in the undo log; a new one of its name was left alone"
