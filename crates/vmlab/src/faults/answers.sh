#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
unit batch.service
guard guard '[guard]
ask-for = "60 s"'
user end
hog batch.service 30
within 400 gone "$hog" || fail "its user wanted it killed, and it lives"
said 'its user answered' || fail "the answer was not heard"
kill "$user"
wait "$user" 2>/dev/null
# Nobody can answer any more, so the guard must not freeze and ask. It notices at its next tick.
sleep 1
hog batch.service 30
within 400 gone "$hog" || fail "the second hog lives"
[ "$(grep -c 'freeze batch.service' "$home/log")" = 1 ] || fail "it was frozen, and no user was there"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "killed after an answer; not frozen when no user could give one"
