#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
zram=/sys/block/zram0
echo 64M >$zram/disksize || fail "there is no zram here"
mkswap /dev/zram0 >/dev/null
swapon /dev/zram0 || fail "there is no swap here"
unit ssh.service
# Whose memory nobody uses: a buffer that is being written to nobody.
in_unit ssh.service sh -c 'dd if=/dev/zero bs=24M | sleep 9999'
within 100 grep -q '^anon 2[0-9]......$' "$units/ssh.service/memory.stat" || fail "it has no memory"
echo 20M >"$units/ssh.service/memory.reclaim"
away() { cat "$units/ssh.service/memory.swap.current"; }
far() { [ "$(away)" -gt 15000000 ]; }
near() { [ "$(away)" -lt 1100000 ]; }
far || fail "only $(away) bytes left"
guard protect '[protect]
enabled = true
programs = []'
within 600 near || fail "$(away) bytes are still away"
said 'read back 16 MiB of ssh.service from swap' || fail "nobody says so"
end_guard
all_is_back
kill -KILL "$(pidof sleep)" 2>/dev/null
swapoff /dev/zram0
echo 1 >$zram/reset
say "what it had in swap came back before anyone asked"
