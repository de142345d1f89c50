#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
stopped_hog "4 s"
within 50 heard '"tell":"ask"' || fail "nobody was asked"
alive "$hog" || fail "it was stopped and ended at once"
within 300 gone "$hog" || fail "nobody answered, and it never ended"
said 'without an answer' || fail "why is not said"
within 50 is 0 "$units/batch.service/cgroup.freeze" || fail "its unit still stands still"
within 50 heard '"tell":"ended"' || fail "its person was not told"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "stopped, asked about, and ended without an answer; its unit is as it was"
