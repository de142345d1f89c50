#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# A guard that does all it can do opens nothing for writing but what it lists. The kernel's own files are at stake, so
# strace looks, and not the guard's sources. `left_out`, from WARMSET_LEAVE_OUT, is a pattern to take off the list: the
# test must then fail.
listed=$home/listed
/lab/warmsetd --list-writes >"$listed" 2>"$home/log" || fail "there is no list of writes"
if [ -n "${left_out-}" ]; then
    grep -v -F "$left_out	" "$listed" >"$listed.short"
    mv "$listed.short" "$listed"
fi
calls=open,openat,openat2,creat,open_by_handle_at,kill,tkill,tgkill,pidfd_send_signal
trace() { strace -ff -y -a 1 --seccomp-bpf -e "trace=$calls" -o "$@"; }
trace "$home/try" true || fail "strace does not work here"

# The guard has its usual directories, which are those of the list.
unit ssh.service
unit batch.service
in_unit ssh.service env WARMSET_UNTIL=99999999 /lab/guest work touch 24
rm -rf /run/warmset /var/lib/warmset
mkdir -p /var/lib/warmset
cat >"$home/toml" <<'TOML'
mode = "protect"
verbosity = 2
[protect]
programs = []
[guard]
ask-for = "4 s"
term-ahead = "12 s"
term-room = "25 %"
contain-ahead = "20 s"
contain-for = "2 s"
[[tunable]]
knob = "vm.page-cluster"
value = 1
on = "start"
TOML
# -D: the guard is a child of this shell, and strace is not.
strace -D -ff -y -a 1 --seccomp-bpf -e "trace=$calls" -o "$home/trace" \
    /lab/warmsetd --config "$home/toml" >>"$home/log" 2>&1 &
guard=$!
within 200 [ -S /run/warmset/notice.sock ] || fail "the guard does not open its socket"
within 100 is 1 /proc/sys/vm/page-cluster || fail "it did not set vm.page-cluster"
ln -s /run/warmset "$home/run"
user nothing
hog batch.service 25
within 600 gone "$hog" || fail "the hog lives"
within 100 is 0 "$units/batch.service/cgroup.freeze" || fail "its unit is still frozen"
guard_is_up || fail "the guard is gone"
end_guard
kill -KILL "$user" 2>/dev/null
all_is_back
# strace ends with the last process it follows.
within 100 grep -q '^+++' "$home/trace.$guard" || fail "strace has not ended"

/lab/guest writes "$listed" "$home"/trace.* >"$home/used" 2>"$home/unlisted" || fail "$(cat "$home/unlisted")"
for pattern in vm/page-cluster memory.min memory.high cgroup.freeze pidfd; do
    grep -q "$pattern" "$home/used" || fail "nothing was written to $pattern: $(cat "$home/used")"
done

# Controls: the test must see a pattern that is missing, and a write that is not listed.
grep -v 'memory.high' "$listed" >"$home/short"
/lab/guest writes "$home/short" "$home"/trace.* >/dev/null 2>"$home/unlisted" && fail "memory.high is not missed"
grep -q 'not listed: .*memory.high' "$home/unlisted" || fail "memory.high is not named: $(cat "$home/unlisted")"
trace "$home/extra" sh -c 'echo 1 >/proc/sys/vm/overcommit_memory'
/lab/guest writes "$listed" "$home"/extra.* >/dev/null 2>"$home/unlisted" && fail "an extra write is not seen"
grep -q 'not listed: /proc/sys/vm/overcommit_memory' "$home/unlisted" || fail "it is not named: $(cat "$home/unlisted")"
rm -rf /run/warmset /var/lib/warmset
say "$(wc -l <"$home/used") patterns were used, and nothing else was opened for writing"
