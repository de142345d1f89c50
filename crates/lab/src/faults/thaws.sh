#!/bin/sh
# shellcheck source=crates/lab/src/faults/prelude.sh disable=SC2154
unit batch.service
# Long before the end, so that a slow machine comes to it too.
guard guard '[guard]
ask-for = "60 s"
contain-ahead = "0 s"
term-ahead = "12 s"
term-room = "25 %"'
person nothing
hog batch.service 30
within 400 is 1 "$units/batch.service/cgroup.freeze" || fail "it was not stopped"
[ -e "$home/run/undo" ] || fail "it was stopped, and the undo log does not say so"
kill -KILL "$guard"
within 10 is 0 "$units/batch.service/cgroup.freeze" || fail "a second later it still stands still"
kill -KILL "$hog"
wait "$guard" 2>/dev/null
guard tune
is_up_again() { [ "$(grep -c learning "$home/log")" -ge 2 ]; }
within 200 is_up_again || fail "the next guard does not start"
within 100 [ ! -e "$home/run/undo" ] || fail "the next guard left the undo log: $(cat "$home/run/undo")"
end_guard
all_is_back
say "went on within a second of the guard's death"
