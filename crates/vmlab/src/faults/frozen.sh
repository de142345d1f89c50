#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# Whoever is frozen holds memory and does not grow; whoever grows beside it goes.
unit ice.service
unit batch.service
in_unit ice.service env WARMSET_UNTIL=99999999 /lab/guest work touch 120
ice=$!
sleep 6
echo 1 >"$units/ice.service/cgroup.freeze"
guard guard
hog batch.service 60
within 400 gone "$hog" || fail "the grower lives"
alive "$ice" || fail "the frozen one was ended"
end_guard
# As it was found, and that is as we left it.
is 1 "$units/ice.service/cgroup.freeze" || fail "it was thawed"
echo 0 >"$units/ice.service/cgroup.freeze"
all_is_back
say "the grower went, the frozen one stayed"
