#!/bin/sh
# shellcheck source=crates/vmlab/src/faults/prelude.sh disable=SC2154
zram=/sys/block/zram0
disk=$home/disk
# Two files of one inode number, each in a subvolume of its own; a stream; a container's view of the second subvolume.
prepare() {
    echo 768M >$zram/disksize
    mkfs.btrfs -q -m single /dev/zram0
    mkdir -p "$disk" "$home/a" "$home/b" "$home/up" "$home/work" "$home/view"
    mount -t btrfs /dev/zram0 "$disk"
    for part in a b; do
        btrfs -q subvolume create "$disk/$part"
        dd if=/dev/zero of="$disk/$part/hot" bs=1M count=48
        mount -t btrfs -o "subvol=$part" /dev/zram0 "$home/$part"
    done
    dd if=/dev/zero of="$disk/b/shown" bs=1M count=48
    # Another inode number, since an event has nothing else, and so long that no page refaults.
    touch "$disk/one" "$disk/two"
    truncate -s 64G "$disk/huge"
    sync
    mount -t overlay -o "lowerdir=$home/b,upperdir=$home/up,workdir=$home/work" none "$home/view"
}
prepare >"$home/prepared" 2>&1 || fail "no file system: $(cat "$home/prepared")"
[ "$(stat -c %i "$home/a/hot")" = "$(stat -c %i "$home/b/hot")" ] || fail "the files have different inode numbers"
[ "$(stat -c %d "$home/a/hot")" != "$(stat -c %d "$home/b/hot")" ] || fail "the subvolumes have one device number"

# Each reader has ended before the guard can look at its mappings.
reads() {
    while [ -e "$home" ]; do
        cat "$1" >/dev/null 2>&1
        sleep 0.5
    done
}
held() { grep -q "$1" "/proc/$(pidof warmset-hold)/maps"; }

env WARMSET_UNTIL=99999999 /lab/guest work touch 310 >/dev/null 2>&1 &
touch=$!
has_it_all() { [ "$(awk '/VmRSS/ {print $2}' "/proc/$touch/status")" -gt 310000 ]; }
within 300 has_it_all || fail "there is not so much memory"
# Both files are to be held at once, which is more than a tenth of memory.
guard protect '[protect]
budget = "25 %"
programs = []'
env WARMSET_UNTIL=99999999 /lab/guest work stream "$disk/huge" >/dev/null 2>&1 &
stream=$!
reads "$home/a/hot" &
reader=$!
within 600 held "$home/a/hot" || fail "it was not held"
! held "$home/b/hot" || fail "the other file of its inode number is held, too"
kill -KILL "$reader"
reads "$home/view/shown" &
reader=$!
within 600 held "$home/b/shown" || fail "the file below the overlay was not held"
end_guard
kill -KILL "$reader" "$stream" "$touch"
for place in view b a disk; do
    within 100 umount "$home/$place"
done
echo 1 >$zram/reset
say "of two files of one inode number the one in use was held, and the file that a container used"
