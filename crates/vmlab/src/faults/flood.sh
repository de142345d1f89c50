#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# Ever more processes, each of which grows, beside one that does not.
unit ssh.service
unit bomb.service
in_unit ssh.service env WARMSET_UNTIL=99999999 /lab/guest work touch 64
bystander=$!
guard guard
cat >"$home/bomb" <<'BOMB'
while :; do
    WARMSET_UNTIL=99999999 /lab/guest work ramp 8 100000 &
    sleep 0.2
done
BOMB
in_unit bomb.service sh "$home/bomb"
bomb=$!
within 900 gone "$bomb" || fail "the bomb goes on, with $(cat "$units/bomb.service/pids.current") processes"
said 'SIG[A-Z]* to' || fail "the kernel was first"
within 100 is "" "$units/bomb.service/cgroup.procs" || fail "of the bomb are left $(cat "$units/bomb.service/cgroup.procs")"
alive "$bystander" || fail "the bystander was killed"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "all of the bomb was killed, and the bystander was not"
