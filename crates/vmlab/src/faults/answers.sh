#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
unit batch.service
guard guard '[guard]
ask-for = "60 s"'
person end
hog batch.service 30
within 400 gone "$hog" || fail "it was to end, and lives"
said 'its user answered' || fail "the answer was not heard"
kill "$person"
wait "$person" 2>/dev/null
# Nobody is there any more.
sleep 1
hog batch.service 30
within 400 gone "$hog" || fail "the second lives"
[ "$(grep -c 'freeze batch.service' "$home/log")" = 1 ] || fail "it was stopped, and nobody was there"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "ended by an answer; not stopped where nobody could give one"
