#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# The configuration is changed to mode observe while a unit is throttled and about to be killed.
unit batch.service
guard guard '[guard]
throttle-for = "60 s"'
hog batch.service 40
within 400 is_not max "$units/batch.service/memory.high" || fail "nothing was throttled"
sed -i 's/^mode = .*/mode = "observe"/' "$home/toml"
kill -HUP "$guard"
within 100 is max "$units/batch.service/memory.high" || fail "the limit stands"
within 100 said 'only observes from now on' || fail "it says nothing of it"
within 1500 gone "$hog" || fail "not even the kernel killed it"
guard_is_up || fail "the guard is gone"
within 100 said 'would send SIG' || fail "it does not name the process that it would have killed"
grep 'SIG[A-Z]* to' "$home/log" | grep -qv 'would send\|proposes' && fail "it sent a signal"
end_guard
all_is_back
say "put back at once; signals were logged and not sent"
