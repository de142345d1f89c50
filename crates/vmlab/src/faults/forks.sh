#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# Each process forks two, until there are as many as the unit may have.
unit bomb.service
echo 600 >"$units/bomb.service/pids.max"
guard guard
cat >"$home/bomb" <<'BOMB'
bomb() { bomb & bomb & wait; }
bomb
BOMB
in_unit bomb.service sh "$home/bomb"
sleep 15
guard_is_up || fail "the guard is gone"
within 100 sh -c "echo >/dev/null" || fail "nothing starts"
echo 1 >"$units/bomb.service/cgroup.kill"
sleep 1
end_guard
all_is_back
say "a bomb of 600 processes; the guard still runs"
