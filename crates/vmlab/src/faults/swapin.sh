#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
zram=/sys/block/zram0
echo 64M >$zram/disksize || fail "there is no zram here"
mkswap /dev/zram0 >/dev/null
swapon /dev/zram0 || fail "there is no swap here"
unit ssh.service
# Memory that nothing uses: the buffer of a dd that waits for its pipe.
in_unit ssh.service sh -c 'dd if=/dev/zero bs=24M | sleep 9999'
within 100 grep -q '^anon 2[0-9]......$' "$units/ssh.service/memory.stat" || fail "it has no memory"
echo 20M >"$units/ssh.service/memory.reclaim"
in_swap() { cat "$units/ssh.service/memory.swap.current"; }
is_out() { [ "$(in_swap)" -gt 15000000 ]; }
is_back() { [ "$(in_swap)" -lt 1100000 ]; }
is_out || fail "only $(in_swap) bytes were swapped out"
guard protect '[protect]
programs = []'
within 600 is_back || fail "$(in_swap) bytes are still in swap"
said 'read back 16 MiB of ssh.service from swap' || fail "the log does not say so"
end_guard
all_is_back
kill -KILL "$(pidof sleep)" 2>/dev/null
swapoff /dev/zram0
echo 1 >$zram/reset
say "its swap was read back before it was used"
