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
    sed -e "s#/usr/sbin/warmsetd#$programs/warmsetd#; s#/usr/bin/warmset #$programs/warmset #" -e '/^Documentation=/d' \
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

# In tenths, earlyoom has 10 and systemd-oomd 20. The guard writes sysctls, answers on the loopback, and kills processes and units.
# It may also call capset, with which a hook gives up all capabilities; that counts two. That it may list which files a process
# has open (CAP_DAC_READ_SEARCH) counts one: without it, memory in a memfd or a tmpfs has no owner.
closed warmsetd.service 30
# It runs as root, because only root can own its name on the bus.
closed warmset-low-memory.service 15
