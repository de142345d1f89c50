#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
# A process with most of memory in a sleep that no signal ends: it writes to a frozen file system.
unit stuck.service
unit batch.service
echo 32M >/sys/block/zram0/disksize
mke2fs -b 4096 /dev/zram0 >/dev/null 2>&1 || fail "no file system"
mkdir -p /run/frozen
mount -t ext2 /dev/zram0 /run/frozen || mount -t ext4 /dev/zram0 /run/frozen || fail "it cannot be mounted"
in_unit stuck.service dd if=/dev/zero of=/run/frozen/file bs=100M count=1 conv=fsync
stuck=$!
fsfreeze --freeze /run/frozen
within 100 grep -q '^State:.D' "/proc/$stuck/status" || say "note: it is in the state $(grep ^State "/proc/$stuck/status")"
guard guard
hog batch.service 60
within 400 gone "$hog" || fail "the hog lives"
guard_is_up || fail "the guard is gone"
fsfreeze --unfreeze /run/frozen
end_guard
kill -KILL "$stuck" 2>/dev/null
within 50 umount /run/frozen
echo 1 >/sys/block/zram0/reset
all_is_back
say "the hog was killed, beside a process that no signal ends"
