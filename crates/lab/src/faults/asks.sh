#!/bin/sh
# shellcheck source=crates/lab/src/faults/prelude.sh disable=SC2154
# Without an answer.
unit batch.service
guard guard '[guard]
ask-for = "4 s"'
person nothing
hog batch.service 60
within 300 is 1 "$units/batch.service/cgroup.freeze" || fail "it was not stopped"
heard '"tell":"ask"' || fail "nobody was asked"
alive "$hog" || fail "it was stopped and ended at once"
within 200 gone "$hog" || fail "nobody answered, and it never ended"
said 'nobody has answered' || fail "why is not said"
within 50 is 0 "$units/batch.service/cgroup.freeze" || fail "its unit still stands still"
heard '"tell":"ended"' || fail "its person was not told"
kill "$person"
end_guard
all_is_back
# With one.
unit other.service
guard guard '[guard]
ask-for = "60 s"'
person end
hog other.service 60
within 400 gone "$hog" || fail "it was to end, and lives"
said 'whose it is says' || fail "the answer was not heard"
kill "$person"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
# With nobody there.
unit third.service
guard guard
hog third.service 60
within 400 gone "$hog" || fail "it lives"
[ "$(grep -c 'stop third.service' "$home/log")" = 0 ] || fail "it was stopped, and nobody was there"
end_guard
all_is_back
say "stopped and ended without an answer, ended by one, not stopped where nobody could answer"
