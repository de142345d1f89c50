#!/bin/sh
# Checks the systemd units, and how exposed systemd-analyze finds them: unit.sh PROGRAMS
set -eu
cd "$(dirname "$0")/../.."

if ! command -v systemd-analyze >/dev/null 2>&1; then
    echo "SKIPPED: unit: systemd-analyze is not installed" >&2
    exit 0
fi
case $1 in
/*) programs=$1 ;;
*) programs=$PWD/$1 ;;
esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# closed UNIT TENTHS: fails if the unit's exposure is above that.
closed() {
    # The programs are not installed, so the unit gets the paths of those just built.
    sed -e "s#/usr/sbin/warmsetd#$programs/warmsetd#; s#/usr/bin/warmset #$programs/warmset #" \
        -e "s#/usr/libexec/warmset-hold#$programs/warmset-hold#" -e '/^Documentation=/d' \
        "packaging/systemd/$1" >"$scratch/$1"
    systemd-analyze verify "$scratch/$1" 2>"$scratch/said" || true
    if grep -F "${1%.service}" "$scratch/said"; then
        echo "unit.sh: systemd-analyze verify reports the lines above for $1" >&2
        exit 1
    fi
    systemd-analyze security --offline=true --threshold="$2" --no-pager "$scratch/$1" >"$scratch/score" || {
        cat "$scratch/score"
        echo "unit.sh: $1 has an exposure above $2 tenths" >&2
        exit 1
    }
    tail -n 1 "$scratch/score"
}

# In tenths, earlyoom has 10 and systemd-oomd 20. The guard runs as root (4), because it writes sysctls (2) and cgroups (2),
# and kills processes (1) and reads /proc (3) of any user (2). It asks which program a process runs (SYS_PTRACE, 3), which
# files it has open, and writes limits in users' cgroups (DAC_*, 2), watches pressure in short windows (SYS_RESOURCE, 1), and
# has a hook give up all capabilities (capset, 2). The rest are its Unix sockets (1), the host's root (1) and the clock's
# device, which ProtectClock= lists (1).
closed warmsetd.service 25
# The holder runs as a user of its own, who may trace the page cache (perf_event_open, 2; until that is open also SYS_ADMIN, 3,
# and capset, by which it gives that up), and find and open files of any user
# (SYS_PTRACE 3, DAC_READ_SEARCH 2, open_by_handle_at 2, /proc 3, /home 1, their users 2), as ambient capabilities (1). The
# rest are the host's root (1) and the clock's device (1).
closed warmset-hold@.service 17
# It runs as root, because only root can own its name on the bus.
closed warmset-low-memory.service 15
