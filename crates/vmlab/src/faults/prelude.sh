#!/bin/sh
# What the faults share: a guard, units of a system without systemd, hogs. Each fault runs in a shell of its own, in a
# machine that the one before has left as it was.
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

# Waits for a command to succeed, so many tenths of a second.
within() {
    tenths=$1
    shift
    while ! "$@" >/dev/null 2>&1; do
        tenths=$((tenths - 1))
        [ "$tenths" -gt 0 ] || return 1
        sleep 0.1
    done
}

# A guard in this mode, with these lines of configuration, started by the command in `as` if there is one.
guard() {
    mkdir -p "$home"
    printf 'mode = "%s"\nverbosity = 2\n[gap]\nenabled = false\n[compaction]\nenabled = false\n%s\n' "$1" "${2-}" >"$home/toml"
    ${as-} "${daemon-/lab/warmsetd}" --config "$home/toml" --state "$home/state" --run "$home/run" >>"$home/log" 2>&1 &
    guard=$!
    within 100 grep -q . "$home/log" || fail "the guard says nothing"
}

guard_is_up() { kill -0 "$guard" 2>/dev/null; }

# Ends the guard as a person would.
end_guard() {
    kill -TERM "$guard"
    wait "$guard" || fail "the guard ended with $?"
}

# A unit of its own.
unit() {
    mkdir -p "$units"
    echo "+memory +pids" >"$units/cgroup.subtree_control"
    mkdir -p "$units/$1"
}

# Runs a command in a unit, beside the script; its number is in $!.
in_unit() {
    where=$units/$1
    shift
    sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$where" "$@" >/dev/null 2>&1 &
}

# A hog of so many MiB a second, in a unit; it gives nothing back and takes no hint.
hog() {
    in_unit "$1" env WARMSET_UNTIL=99999999 ${3+"$3"} /lab/guest work ramp "$2" 100000
    hog=$!
}

# A hog that is stopped until a person has answered, or so long; nobody does. It comes long before the end, so that a slow
# machine comes to it too.
stopped_hog() {
    unit batch.service
    guard guard "[guard]
ask-for = \"$1\"
contain-ahead = \"0 s\"
term-ahead = \"12 s\"
term-room = \"25 %\""
    person nothing
    hog batch.service 30
    within 400 is 1 "$units/batch.service/cgroup.freeze" || fail "it was not stopped"
}

# Someone who hears what the guard tells, and gives this answer to every question.
person() {
    within 100 [ -S "$home/run/notice.sock" ] || fail "the guard opens to nobody"
    /lab/guest work person "$home/run/notice.sock" "$1" 0 >"$home/heard" 2>&1 &
    person=$!
    # Whoever has come in is seen at the next look.
    sleep 1
}

heard() { grep -q "$1" "$home/heard"; }

alive() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$1/status"; }
gone() { ! alive "$1"; }

is() { [ "$(cat "$2" 2>/dev/null)" = "$1" ]; }
is_not() { ! is "$1" "$2"; }
said() { grep -q "$1" "$home/log"; }

# Everything that a guard may have set is as it was.
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
    [ ! -e "$home/run/undo" ] || fail "the undo log still says $(cat "$home/run/undo")"
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
# A hog maps more than there is, and takes it bit by bit.
echo 1 >/proc/sys/vm/overcommit_memory
