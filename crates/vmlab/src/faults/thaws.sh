#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
frozen_hog "60 s"
[ -e "$home/run/undo" ] || fail "it was frozen, and is not in the undo log"
kill -KILL "$guard"
within 10 is 0 "$units/batch.service/cgroup.freeze" || fail "a second later it is still frozen"
kill -KILL "$hog"
wait "$guard" 2>/dev/null
guard tune
is_up_again() { [ "$(grep -c learning "$home/log")" -ge 2 ]; }
within 200 is_up_again || fail "the next guard does not start"
within 100 [ ! -e "$home/run/undo" ] || fail "the next guard left the undo log: $(cat "$home/run/undo")"
end_guard
all_is_back
say "thawed within a second of the guard's death"
