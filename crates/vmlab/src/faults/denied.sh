#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# The guard may no longer write to a limit that it holds. It says so, keeps it in the undo log, and puts it back once it
# may again.
unit batch.service
as="/lab/guest humbly" guard guard '[guard]
throttle-for = "60 s"'
hog batch.service 60
within 300 is_not max "$units/batch.service/memory.high" || fail "it was not throttled"
sleep 4
chown 1000 "$units/batch.service/memory.high"
kill -KILL "$hog"
within 100 said 'cannot' || fail "nothing was said of it"
guard_is_up || fail "the guard is gone"
is_not max "$units/batch.service/memory.high" || fail "it was written to all the same"
[ -e "$home/run/undo" ] || fail "the undo log is gone"
chown 0 "$units/batch.service/memory.high"
end_guard
all_is_back
say "reported, kept in the undo log, and put back when that was allowed"
