#!/bin/sh
# Functions for all faults: a guard, units of a system without systemd, hogs. Each fault runs in a shell of its own, in a
# machine that the fault before has left as it was.
# shellcheck disable=SC2034
set -u
top=/sys/fs/cgroup
home=/run/arm/fault
units=$top/system.slice

say() { echo "$*"; }

fail() {
    say "FAILED: $*"
    sed 's/^/  guard: /' "$home/log" 2>/dev/null | tail -n 40
    exit 1
}

# within TENTHS COMMAND...: waits for a command to succeed, for at most this many tenths of a second.
within() {
    tenths=$1
    shift
    while ! "$@" >/dev/null 2>&1; do
        tenths=$((tenths - 1))
        [ "$tenths" -gt 0 ] || return 1
        sleep 0.1
    done
}

# guard MODE [LINES]: starts a guard in this mode, with these lines of configuration. Its program is that in `daemon`, if
# set; it is started by the command in `as`, if set.
guard() {
    mkdir -p "$home"
    printf 'mode = "%s"\nverbosity = 2\n[gap]\nenabled = false\n[compaction]\nenabled = false\n%s\n' "$1" "${2-}" >"$home/toml"
    ${as-} "${daemon-/lab/warmsetd}" --config "$home/toml" --state "$home/state" --run "$home/run" >>"$home/log" 2>&1 &
    guard=$!
    within 100 grep -q . "$home/log" || fail "the guard logs nothing"
}

guard_is_up() { kill -0 "$guard" 2>/dev/null; }

# Ends the guard by SIGTERM, as a service manager does.
end_guard() {
    kill -TERM "$guard"
    wait "$guard" || fail "the guard ended with $?"
}

# unit NAME: makes a unit below system.slice.
unit() {
    mkdir -p "$units"
    echo "+memory +pids" >"$units/cgroup.subtree_control"
    mkdir -p "$units/$1"
}

# in_unit UNIT COMMAND...: runs a command in a unit, in the background. Its process number is in $!.
in_unit() {
    where=$units/$1
    shift
    sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$where" "$@" >/dev/null 2>&1 &
}

# hog UNIT MIB_A_SECOND: a process that grows in a unit and never gives memory back.
hog() {
    in_unit "$1" env WARMSET_UNTIL=99999999 ${3+"$3"} /lab/guest work ramp "$2" 100000
    hog=$!
}

# frozen_hog TIME: a hog that is frozen until its user has answered, or for this time; the user gives no answer. The guard
# freezes it long before memory runs out, so that a slow machine gets there, too.
frozen_hog() {
    unit batch.service
    guard guard "[guard]
ask-for = \"$1\"
throttle-ahead = \"0 s\"
term-ahead = \"12 s\"
term-room = \"25 %\""
    user nothing
    hog batch.service 30
    within 400 is 1 "$units/batch.service/cgroup.freeze" || fail "it was not frozen"
}

# user ANSWER: a user's program that prints the guard's notices, and gives this answer to every question.
user() {
    within 100 [ -S "$home/run/notice.sock" ] || fail "the guard does not open its socket"
    /lab/guest work user "$home/run/notice.sock" "$1" 0 >"$home/heard" 2>&1 &
    user=$!
    # The guard accepts it at its next tick.
    sleep 1
}

heard() { grep -q "$1" "$home/heard"; }

alive() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status"; }
gone() { ! alive "$1"; }

is() { [ "$(cat "$2" 2>/dev/null)" = "$1" ]; }
is_not() { ! is "$1" "$2"; }
said() { grep -q "$1" "$home/log"; }

# Fails unless everything that a guard may have set is as it was.
all_is_back() {
    for file in "$top"/*/memory.min "$units"/*/memory.min; do
        is 0 "$file" || fail "$file is $(cat "$file")"
    done
    for file in "$units"/*/cgroup.freeze; do
        is 0 "$file" || fail "$file is $(cat "$file")"
    done
    for file in "$units"/*/memory.high; do
        is max "$file" || fail "$file is $(cat "$file")"
    done
    [ ! -e "$home/run/undo" ] || fail "the undo log still has $(cat "$home/run/undo")"
}

leave() {
    # shellcheck disable=SC2046
    kill -KILL $(jobs -p) 2>/dev/null
    wait 2>/dev/null
    within 100 rmdir "$units"/*.service
    rm -rf "$home"
}
trap leave EXIT
rm -rf "$home"
mkdir -p "$home"
# A hog maps more memory than there is, and touches it bit by bit.
echo 1 >/proc/sys/vm/overcommit_memory
