#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# Names that would be a rule, a line, a path or a colour to a program that did not quote them.
name=$(printf 'a b\tc%%20\\x2d\033[31m\342\200\256..service.service')
unit "$name"
guard guard
in_unit "$name" env WARMSET_UNTIL=99999999 WARMSET_NAME='sshd) R 1 (' /lab/guest work ramp 60 100000
hog=$!
within 300 is_not max "$units/$name/memory.high" || fail "it was not throttled"
grep -q 'a%20b%09c%2520' "$home/run/undo" || fail "the log has $(cat "$home/run/undo")"
within 300 gone "$hog" || fail "a hog that is called sshd is a hog"
! grep -q "$(printf '\033')" "$home/log" || fail "the log has an escape sequence"
within 100 is max "$units/$name/memory.high" || fail "the limit stays"
end_guard
all_is_back
say "throttled, killed and put back under any name"
