#!/bin/sh
# shellcheck source=crates/lab/src/faults/prelude.sh disable=SC2154
unit batch.service
# Long before the end, so that a slow machine comes to it too.
guard guard '[guard]
ask-for = "4 s"
contain-ahead = "0 s"
term-ahead = "12 s"
term-room = "25 %"'
person nothing
hog batch.service 30
within 400 is 1 "$units/batch.service/cgroup.freeze" || fail "it was not stopped"
heard '"tell":"ask"' || fail "nobody was asked"
alive "$hog" || fail "it was stopped and ended at once"
within 300 gone "$hog" || fail "nobody answered, and it never ended"
said 'nobody has answered' || fail "why is not said"
within 50 is 0 "$units/batch.service/cgroup.freeze" || fail "its unit still stands still"
heard '"tell":"ended"' || fail "its person was not told"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "stopped, asked about, and ended without an answer; its unit is as it was"
