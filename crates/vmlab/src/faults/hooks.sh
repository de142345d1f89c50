#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# The guard runs a hook only if nobody but root may write to it and to the directories above it.
chmod 755 /run /run/arm "$home"
hook() {
    printf '#!/bin/sh\n%s\n' "$2" >"$home/$1"
    chmod 755 "$home/$1"
}
hook ended "env >$home/told-ended; sleep 1000"
hook warn 'exit 7'
chmod 777 "$home/warn"
hooks="[hooks]
ended = \"$home/ended\"
timeout = \"1 s\""
printf 'mode = "guard"\n%s\nwarn = "%s/warn"\n' "$hooks" "$home" >"$home/toml"
/lab/warmsetd --config "$home/toml" --state "$home/state" --run "$home/run" >"$home/log" 2>&1 && fail "it took a hook that anyone may write"
said 'others may write to it' || fail "it does not say what is wrong: $(cat "$home/log")"
unit batch.service
guard guard "$hooks"
hog batch.service 30
within 400 gone "$hog" || fail "it lives"
within 50 grep -q '^WARMSET_EVENT=ended' "$home/told-ended" || fail "the hook of a kill was not run"
grep -q "^WARMSET_PID=$hog\$" "$home/told-ended" || fail "the hook got another process: $(cat "$home/told-ended")"
within 600 said 'ended: killed after 1 s' || fail "a hook that hangs was not killed, or nothing is said of it"
guard_is_up || fail "the guard is gone"
end_guard
all_is_back
say "a hook was run, and killed when it hung; one that anyone could write to was refused"
