#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
unit batch.service
guard guard
hog batch.service 60
within 300 is_not max "$units/batch.service/memory.high" || fail "it was not throttled"
high=$(cat "$units/batch.service/memory.high")
within 300 gone "$hog" || fail "it was throttled at $high and never killed"
said 'throttle batch.service' || fail "nothing was said of it"
[ "$(grep -c 'SIG[A-Z]* to' "$home/log")" -ge 1 ] || fail "it was killed, and not by the guard"
within 100 is max "$units/batch.service/memory.high" || fail "the limit stays at $(cat "$units/batch.service/memory.high")"
[ "$(grep -o '^oom_kill .*' /proc/vmstat)" = "oom_kill 0" ] || say "the kernel killed too: $(grep '^oom_kill ' /proc/vmstat)"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "throttled at $((high >> 20)) MiB, then killed; the limit is as it was"
