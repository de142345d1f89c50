#!/bin/sh
# shellcheck source=crates/lab/src/faults/prelude.sh disable=SC2154
# Ten thousand processes, and one that grows.
unit crowd.service
unit batch.service
cat >"$home/crowd" <<'CROWD'
i=0
while [ $i -lt 10000 ]; do
    sleep 9999 &
    i=$((i + 1))
done
wait
CROWD
in_unit crowd.service sh "$home/crowd"
within 4000 sh -c "[ \$(cat $units/crowd.service/pids.current) -ge 10000 ]" ||
    fail "only $(cat "$units/crowd.service/pids.current") are there"
guard guard
hog batch.service 100
within 1200 gone "$hog" || fail "the hog lives"
said 'SIG[A-Z]* to' || fail "the kernel was first"
[ "$(cat "$units/crowd.service/pids.current")" -ge 10000 ] || fail "one of the crowd went"
end_guard
all_is_back
echo 1 >"$units/crowd.service/cgroup.kill"
say "one of 10 000 was the one, and went"
