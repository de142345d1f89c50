#!/bin/sh
# shellcheck source=crates/lab/src/faults/prelude.sh disable=SC2154
unit batch.service
guard guard '[guard]
ask-for = "60 s"'
person nothing
hog batch.service 30
within 400 is 1 "$units/batch.service/cgroup.freeze" || fail "it was not stopped"
kill -KILL "$guard"
within 10 is 0 "$units/batch.service/cgroup.freeze" || fail "a second later it still stands still"
kill -KILL "$hog"
wait "$guard" 2>/dev/null
guard tune
within 100 said 'left by a guard before' || fail "the next guard found nothing to put back"
end_guard
all_is_back
say "went on within a second of the guard's death; the rest was the next guard's"
