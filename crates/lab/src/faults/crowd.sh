#!/bin/sh
# shellcheck source=crates/lab/src/faults/prelude.sh disable=SC2154
# Ten thousand processes, and one that grows.
unit crowd.service
unit batch.service
mkfifo "$home/gate"
# In hundreds: a shell copies what it knows of its jobs into each new one.
cat >"$home/crowd" <<'CROWD'
hundreds=0
while [ $hundreds -lt 100 ]; do
    (
        ones=0
        while [ $ones -lt 100 ]; do
            (read -r _ <"$0") &
            ones=$((ones + 1))
        done
        wait
    ) &
    hundreds=$((hundreds + 1))
done
wait
CROWD
# shellcheck disable=SC2016
in_unit crowd.service sh -c '. "$1"' "$home/gate" "$home/crowd"
crowd() { cat "$units/crowd.service/pids.current"; }
left=200
# Each hundred has a shell of its own, and all of them one.
while [ "$(crowd)" -lt 10101 ] && [ "$left" -gt 0 ]; do
    sleep 5
    left=$((left - 1))
done
[ "$(crowd)" -eq 10101 ] || fail "only $(crowd) are there"
guard guard
hog batch.service 100
within 3000 gone "$hog" || fail "the hog lives"
said 'SIG[A-Z]* to' || fail "the kernel was first"
[ "$(crowd)" -eq 10101 ] || fail "one of the crowd went"
end_guard
all_is_back
echo 1 >"$units/crowd.service/cgroup.kill"
say "one of 10 000 was the one, and went"
