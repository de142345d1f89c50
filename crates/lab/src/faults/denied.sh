#!/bin/sh
# shellcheck source=crates/lab/src/faults/prelude.sh disable=SC2154
# What may be written is lost while something is held: said, and put back once it is there again.
unit batch.service
guard guard '[guard]
contain-for = "60 s"'
hog batch.service 60
within 300 is_not max "$units/batch.service/memory.high" || fail "it was not contained"
mount -o remount,ro "$top" || fail "it cannot be made read-only"
kill -KILL "$hog"
sleep 8
guard_is_up || fail "the guard is gone"
is_not max "$units/batch.service/memory.high" || fail "it was written to all the same"
[ -e "$home/run/undo" ] || fail "the log has forgotten it"
mount -o remount,rw "$top"
end_guard
all_is_back
say "said, kept in the log, and put back when that could be done"
