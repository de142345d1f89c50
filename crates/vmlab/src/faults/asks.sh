#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
frozen_hog "4 s"
within 50 heard '"tell":"ask"' || fail "no question was asked"
alive "$hog" || fail "it was frozen and killed at once"
within 300 gone "$hog" || fail "nobody answered, and it was never killed"
said 'without an answer' || fail "why is not said"
within 50 is 0 "$units/batch.service/cgroup.freeze" || fail "its unit is still frozen"
within 50 heard '"tell":"ended"' || fail "its user was not notified"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "frozen, its user asked, and killed without an answer; its unit is as it was"
