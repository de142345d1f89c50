#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
case $(uname -r) in 6.1.*)
    say "the kernel reports reads from memory since 6.12: nothing to try"
    exit 0
    ;;
esac
/lab/warmset-hold --probe | grep -q "^yes.reads from memory" || fail "the kernel tells nothing: $(/lab/warmset-hold --probe)"
zram=/sys/block/zram0
disk=$home/disk
prepare() {
    echo 256M >$zram/disksize
    mkfs.btrfs -q -m single /dev/zram0
    mkdir -p "$disk"
    mount -t btrfs /dev/zram0 "$disk"
    # A tenth of the machine's memory may be locked.
    dd if=/dev/zero of="$disk/hot" bs=1M count=40
    sync
    # The file must be older than the guard's watch.
    sleep 1
}
prepare >"$home/prepared" 2>&1 || fail "no file system: $(cat "$home/prepared")"

# A new process reads it each time, from memory and never from the disk.
reads() {
    while [ -e "$home" ]; do
        cat "$disk/hot" >/dev/null 2>&1
        sleep 0.5
    done
}
guard protect '[protect]
programs = []'
reads &
reader=$!
unit batch.service
hog batch.service 20
within 600 said 'hold 40 MiB of .* used again after' || fail "it was not held for its use"
grep -q "$disk/hot" "/proc/$(pidof warmset-hold)/maps" || fail "it is not held"
! said 'refaults/s' || fail "it was lost before"
within 600 gone "$hog" || fail "the hog is still there"
! said 'refaults/s' || fail "it was lost while it was held"
kill -KILL "$reader"
end_guard
all_is_back
within 100 umount "$disk"
echo 1 >$zram/reset
say "the file that was read all the time was held before any of it was evicted"
