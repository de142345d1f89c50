#!/bin/sh
# What a machine may lack. Each time the guard says what, goes on with the rest where it can, and leaves all as it was.
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
unit ssh.service

# lacking SCRIPT: the guard is started in a mount namespace of its own, after this script.
lacking() {
    printf '#!/bin/sh\nset -e\n%s\nexec "$@"\n' "$1" >"$home/lacking"
    as="unshare -m sh $home/lacking"
}

# check NAME TEXT: within ten seconds the guard says this; then it ends as told.
check() {
    within 100 said "$2" || fail "$1: it does not say '$2'"
    guard_is_up || fail "$1: it has ended"
    end_guard
    all_is_back
    rm -rf "$home/log" "$home/run" "$home/state"
    as=
    checked="${checked-}$1, "
}

lacking 'umount -l /sys/kernel/tracing 2>/dev/null || true
umount -l /sys/kernel/debug 2>/dev/null || true'
guard protect
check "no tracefs" "not armed: events of the page cache: .*mount -t tracefs"

lacking 'umount -l /sys/fs/cgroup'
guard protect
check "no control groups" "not armed: limits of units: no control groups of version 2; boot with"

lacking 'mount -o bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -o remount,bind,ro /sys'
guard protect
check "read-only /proc/sys" "observing only: /proc/sys is read-only here"

# Root in a user namespace has no rights over the machine.
# shellcheck disable=SC2034
as="unshare -U -r"
guard protect
check "a user namespace" "not armed: "

# A guard that cannot write its undo log must not change anything.
mkdir -p "$home/run"
mount -t tmpfs -o size=8k,mode=700 none "$home/run"
head -c 100000 /dev/zero >"$home/run/full" 2>/dev/null
guard protect '[[tunable]]
knob = "vm.page-cluster"
value = 1
on = "start"'
found=$(cat /proc/sys/vm/page-cluster)
sleep 3
is "$found" /proc/sys/vm/page-cluster || fail "a full run directory: a knob was set that is in no undo log"
grep -q "No space left" "$home/log" || fail "a full run directory: it does not say so"
kill -TERM "$guard" 2>/dev/null
wait "$guard"
umount "$home/run"
rm -rf "$home/log" "$home/run" "$home/state"
checked="$checked""a full run directory, "

guard protect
/lab/warmsetd --config "$home/toml" --state "$home/other" --run "$home/run" >"$home/second" 2>&1 && fail "a second guard runs"
grep -q "running already" "$home/second" || fail "a second guard does not say why it ends: $(cat "$home/second")"
checked="$checked""two guards, "
check "a guard beside it" "armed: "

guard protect '[protect]
enabled = false'
check "an old configuration" "enabled"
say "${checked%, }"
