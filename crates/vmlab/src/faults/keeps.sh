#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
unit ssh.service
unit batch.service
# Another unit has a floor that the guard did not set, and uses all of it.
unit other.service
echo 8M >"$units/other.service/memory.min"
in_unit other.service env WARMSET_UNTIL=99999999 /lab/guest work touch 12
in_unit ssh.service env WARMSET_UNTIL=99999999 /lab/guest work touch 24
guard protect '[protect]
programs = []
release-after = "5 s"'
/lab/warmset-hold --probe | grep -q "^yes.floors of units" || fail "floors do not work here: $(/lab/warmset-hold --probe)"
sleep 2
hog batch.service 50
within 400 is_not 0 "$units/ssh.service/memory.min" || fail "nothing was kept for ssh.service"
kept=$(cat "$units/ssh.service/memory.min")
is "$((kept + (8 << 20)))" "$units/memory.min" || fail "system.slice keeps $(cat "$units/memory.min") for $kept and 8 MiB"
is 0 "$units/batch.service/memory.min" || fail "memory is kept for the hog's unit, too"
within 300 gone "$hog" || fail "the hog lives"
within 400 is 0 "$units/ssh.service/memory.min" || fail "it was not put back"
is 0 "$units/memory.min" || fail "memory.min of system.slice was not put back"
end_guard
is "$((8 << 20))" "$units/other.service/memory.min" || fail "the floor of other.service was changed"
echo 0 >"$units/other.service/memory.min"
all_is_back
say "$((kept >> 20)) MiB kept, in system.slice too; put back afterwards"
