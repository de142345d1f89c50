#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# An older guard is killed while it holds a knob and a limit. The present one reads its undo log and puts both back.
# WARMSET_OLD (or --old) is that older guard; without it, this test writes an undo log as version 0.1.0 wrote it.
page_cluster=/proc/sys/vm/page-cluster
found=$(cat "$page_cluster")
unit batch.service
high=$units/batch.service/memory.high
if [ -x /lab/old/warmsetd ]; then
    daemon=/lab/old/warmsetd guard guard '[guard]
contain-for = "60 s"
[[tunable]]
knob = "vm.page-cluster"
value = 1
on = "start"'
    within 200 is 1 "$page_cluster" || fail "the older guard did not set vm.page-cluster"
    hog batch.service 60
    within 400 is_not max "$high" || fail "the older guard did not throttle batch.service"
    kill -KILL "$guard"
    wait "$guard" 2>/dev/null
    kill -KILL "$hog"
    older="an older guard"
else
    echo 1 >"$page_cluster"
    echo 390287360 >"$high"
    mkdir -p "$home/run"
    chmod 711 "$home/run"
    sed -e "s/BOOT/$(cat /proc/sys/kernel/random/boot_id)/" -e "s/FOUND/$found/g" \
        -e "s/INODE/$(stat -c %i "$units/batch.service")/" >"$home/run/undo" <<'UNDO'
warmset-undo 1 BOOT
proc/sys/vm/page-cluster	FOUND	1	FOUND
sys/fs/cgroup/system.slice/batch.service/memory.high	INODE	18446744073709551615	390287360	18446744073709551615
UNDO
    chmod 600 "$home/run/undo"
    older="the log of version 0.1.0"
fi
say "the undo log: $(cat "$home/run/undo")"
is 1 "$page_cluster" || fail "there is no knob to put back"
is_not max "$high" || fail "there is no limit to put back"
guard tune
within 100 said 'put back' || fail "the present guard put nothing back"
within 100 is "$found" "$page_cluster" || fail "vm.page-cluster is $(cat "$page_cluster"), and was $found"
all_is_back
end_guard
say "what $older held was put back by the present one"
