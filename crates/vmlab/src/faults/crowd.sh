#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# Ten thousand processes, and one that grows.
unit crowd.service
unit batch.service
in_unit crowd.service /lab/guest work crowd 10000
crowd() { cat "$units/crowd.service/pids.current"; }
left=200
# One more: the process that started them.
while [ "$(crowd)" -lt 10001 ] && [ "$left" -gt 0 ]; do
    sleep 5
    left=$((left - 1))
done
[ "$(crowd)" -eq 10001 ] || fail "only $(crowd) processes are there"
guard guard
hog batch.service 100
within 3000 gone "$hog" || fail "the hog lives"
said 'SIG[A-Z]* to' || fail "the kernel was first"
[ "$(crowd)" -eq 10001 ] || fail "one of the crowd was killed"
end_guard
all_is_back
echo 1 >"$units/crowd.service/cgroup.kill"
say "of 10 000 processes the one that grew was killed"
