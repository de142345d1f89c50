#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
unit ssh.service
unit batch.service
in_unit ssh.service env WARMSET_UNTIL=99999999 /lab/guest work touch 24
guard protect '[protect]
programs = []
[guard]
throttle-for = "60 s"'
sleep 2
hog batch.service 50
within 400 is_not 0 "$units/ssh.service/memory.min" || fail "nothing was kept"
within 400 is_not max "$units/batch.service/memory.high" || fail "nothing was throttled"
kill -KILL "$guard"
wait "$guard" 2>/dev/null
is_not max "$units/batch.service/memory.high" || fail "there was nothing to put back"
kill -KILL "$hog"
guard tune
within 100 said 'put back' || fail "the next guard put nothing back"
all_is_back
end_guard
say "killed with memory.min and memory.high set; the next guard put both back"
