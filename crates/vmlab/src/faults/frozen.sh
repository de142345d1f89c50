#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# A frozen process holds memory and does not grow. The one that grows beside it must be killed.
unit ice.service
unit batch.service
in_unit ice.service env WARMSET_UNTIL=99999999 /lab/guest work touch 120
ice=$!
sleep 6
echo 1 >"$units/ice.service/cgroup.freeze"
guard guard
hog batch.service 60
within 400 gone "$hog" || fail "the hog lives"
alive "$ice" || fail "the frozen process was killed"
end_guard
# The guard found it frozen, so it must leave it frozen.
is 1 "$units/ice.service/cgroup.freeze" || fail "it was thawed"
echo 0 >"$units/ice.service/cgroup.freeze"
all_is_back
say "the hog was killed, and the frozen process was not"
